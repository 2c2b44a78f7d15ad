"""What is checked before batches are read."""

import pytest
from kinds_of_learning import training

from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.tasks import choose_task, reading

FEATURES = features_from_json(
    {
        "image": {"kind": "image", "shape": [8, 8, 3]},
        "label": {"kind": "class_label", "classes": ["a", "b"]},
    }
)


def test_a_batch_beyond_the_free_memory_is_refused(monkeypatch):
    task, _ = choose_task(FEATURES, training(image_size=(8, 8)))
    monkeypatch.setattr(reading, "free_memory", lambda: 4 * 8 * 8 * 3 * 10)

    reading.check_memory_of_batch(task, 10)
    with pytest.raises(ConfigError, match=r"--batch-size 11 needs 8.2 KiB .* 7.5 KiB are free"):
        reading.check_memory_of_batch(task, 11)
