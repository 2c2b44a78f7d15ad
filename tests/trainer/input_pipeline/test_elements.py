"""Elements of a batch: inputs, target and weight."""

import numpy as np
import pytest
import tensorflow as tf

import trainer


@pytest.fixture
def dataset(tmp_path, write_records):
    """Three records with two inputs, a label and two weights."""
    write_records(
        tmp_path / "a.tfrecord",
        [
            {"a": float(n), "b": [n, n], "label": n, "weight": n / 2, "count": n, "s": b"s"}
            for n in range(3)
        ],
    )
    return trainer.open(tmp_path / "a.tfrecord")


@pytest.mark.parametrize(
    ("weight", "expected"),
    [pytest.param("weight", [0, 0.5, 1], id="float"), pytest.param("count", [0, 1, 2], id="int")],
)
def test_weights_come_third_and_are_not_an_input(dataset, weight, expected):
    (batch,) = dataset.batches(
        features=["a", "b", "label", weight], target="label", sample_weight=weight
    )

    inputs, label, weights = batch
    assert set(inputs) == {"a", "b"}
    assert label.numpy().tolist() == [0, 1, 2]
    assert weights.dtype == tf.float32
    assert weights.numpy().tolist() == expected


def test_a_weight_of_one_record(dataset):
    inputs, _, weight = next(
        dataset.batches(
            batch_size=None,
            features=["a", "label", "weight"],
            target="label",
            sample_weight="weight",
        ).as_numpy_iterator()
    )

    assert (np.shape(inputs), np.shape(weight)) == ((), ())


def test_a_float_is_a_target_as_good(dataset):
    (batch,) = dataset.batches(features=["b", "a"], target="a")

    assert batch[1].numpy().tolist() == [0, 1, 2]


def test_boxes_as_the_target_come_with_all_that_they_have(directory_of):
    batches = trainer.open(directory_of("boxes")).batches("train", image_size=8, target="boxes")

    inputs, target = next(iter(batches))

    assert set(inputs) == {"image", "weight"}
    assert set(target) == {"boxes", "labels"}
    assert target["boxes"].shape[:2] == target["labels"].shape


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "sample_weight='weight' needs a target to weigh"),
        ({"target": "label", "sample_weight": "weigth"}, "did you mean 'weight'"),
        (
            {"target": "label", "sample_weight": "s"},
            "number per record for sample_weight 's'",
        ),
        ({"target": "label", "sample_weight": "b"}, "sample_weight 'b'"),
        ({"target": "label", "sample_weight": "label"}, "sample_weight 'label'"),
        ({"target": "label", "features": ["label", "weight"]}, "leaves no input"),
    ],
)
def test_wrong_weights(dataset, arguments, message):
    with pytest.raises(trainer.ConfigError, match=message):
        dataset.batches(**{"sample_weight": "weight", **arguments})
