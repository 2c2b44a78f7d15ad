"""`balance` lets all classes come equally often; the order stays that of (seed, position)."""

import numpy as np
import pytest

import trainer
from trainer.errors import ConfigError


@pytest.fixture(scope="module")
def rare(tmp_path_factory, write_dataset, schema):
    """40 records of two classes, of which the second has 4."""
    records = [
        {
            "number": number,
            "image/class/label": int(number % 10 == 3),
            "name": b"n%d" % (number % 3),
        }
        for number in range(40)
    ]
    features = [schema["number"], schema["label"], {"name": "name", "kind": "text"}]
    path = tmp_path_factory.mktemp("rare") / "1.0.0"
    return trainer.open(write_dataset(path, features, {"train": records}, num_shards=3))


def drawn(dataset, **more):
    options = {"batch_size": 8, "shuffle": True, "seed": 3, "balance": "label"}
    batches = dataset.batches(features=["number", "label"], **{**options, **more})
    return [(batch["number"].numpy(), batch["label"].numpy()) for batch in batches]


def test_every_batch_has_as_many_of_each_class(rare):
    batches = drawn(rare)

    assert len(batches) == 5  # a pass is as long as ever
    assert [labels.sum() for _, labels in batches] == [4] * 5
    numbers = np.concatenate([numbers for numbers, _ in batches])
    counts = np.bincount(numbers, minlength=40)
    assert (counts[3::10] == 5).all()  # each record of the rare class, in turn
    assert (np.delete(counts, np.arange(3, 40, 10)) <= 1).all()


def test_strings_are_classes_too(rare):
    batches = rare.batches(features=["name"], batch_size=6, shuffle=True, seed=1, balance="name")

    for batch in batches.take(5):
        assert sorted(batch["name"].numpy()) == [b"n0", b"n0", b"n1", b"n1", b"n2", b"n2"]


def test_records_without_a_class_are_refused(tmp_path, write_dataset, schema):
    records = [{"number": 1, "image/class/label": each} for each in (0, -1, 1)]
    path = write_dataset(tmp_path / "1.0.0", [schema["label"]], {"train": records}, num_shards=1)

    with pytest.raises(ConfigError, match="label of record 1 is -1, not a class"):
        trainer.open(path).batches(shuffle=True, balance="label")
