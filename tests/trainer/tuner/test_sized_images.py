"""Images stored at the size that a training sees, tried on a sample."""

import io

import numpy as np
import pytest
from file_bytes import image_bytes
from kinds_of_learning import training
from PIL import Image
from tiers import first_quick

import trainer
from tfrecord_dataset.image_size import ImageSize
from trainer.options.train import TrainConfig
from trainer.tasks import choose_task
from trainer.tasks.batch_changes import BatchChanges
from trainer.tuner.measuring import Measurement
from trainer.tuner.sized_images import longest_side, try_sizes


@pytest.mark.parametrize(
    ("sizes", "seen", "side"),
    [
        pytest.param([(375, 500)], (224, 224), 304, id="the shorter side has as many pixels"),
        pytest.param([(500, 375)], (224, 224), 304, id="portrait"),
        pytest.param([(512, 512)], (256, 256), 256, id="square"),
        pytest.param([(100, 100)], (256, 256), 256, id="smaller than what is seen"),
        pytest.param([(300, 600)], (150, 100), 304, id="of another aspect"),
        pytest.param([(64, 64), (64, 64), (64, 640)], (64, 64), 64, id="a panorama among others"),
    ],
)
def test_the_longest_side(sizes, seen, side):
    assert longest_side([ImageSize(*size) for size in sizes], ImageSize(*seen)) == side


IMAGE = {"name": "image", "kind": "image", "key": "image"}
LABEL = {"name": "label", "kind": "class_label", "key": "label", "classes": ["a", "b"]}


def photograph(form, mode="RGB", size=(120, 90)):
    pixels = np.random.default_rng(3).integers(0, 256, (3, 4, 3), dtype=np.uint8)
    image = Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC)
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    return image_bytes(image, form)


LOSSLESS = "--image-max-side 48 --image-format bmp"
AS_JPEG = "--image-format jpeg --jpeg-quality 90"
HALVES = "--image-format mix=0.5 --jpeg-quality 90"


@pytest.mark.parametrize(
    ("encoded", "expected"),
    first_quick(
        [
            (
                photograph("JPEG"),
                {
                    f"--image-max-side 48 {AS_JPEG}": None,
                    f"--image-max-side 48 {HALVES}": None,
                    LOSSLESS: 48 * 36 * 3 + 54,
                },
            ),
            (photograph("PNG"), {LOSSLESS: 48 * 36 * 3 + 54}),
            (photograph("JPEG", size=(40, 30)), {"--image-format bmp": 40 * 30 * 3 + 54}),
            (photograph("PNG", "I;16"), {}),
        ]
    ),
    ids=["photographs", "lossless", "small already", "16 bits"],
)
def test_ways_that_are_tried(tmp_path, write_records, encoded, expected):
    path = tmp_path / "a.tfrecord"
    write_records(path, [{"image": encoded, "label": n % 2} for n in range(6)])
    with Image.open(io.BytesIO(encoded)) as image:
        stated = {**IMAGE, "shape": [image.height, image.width, 3]}
    dataset = trainer.open(path, [stated, LABEL])
    task, _ = choose_task(dataset.features, training(target="label", image_size=32))
    options = TrainConfig(data=str(path), output="run", seed=0, batch_size=8)
    measured = Measurement(
        dataset=dataset,
        split="train",
        task=task,
        config=options,
        changes=BatchChanges(),
        augment=None,
        seconds=0.01,
    )

    tried = list(try_sizes(measured))

    assert [each.text for each in tried] == [f"build {each}" for each in expected]
    sizes = [remedy.record_bytes for remedy in tried]
    assert sizes == sorted(set(sizes))
    for remedy in tried:
        assert remedy.records_per_s > 0
        if (num_bytes := expected[remedy.text.removeprefix("build ")]) is not None:
            assert num_bytes < remedy.record_bytes < num_bytes + 100
