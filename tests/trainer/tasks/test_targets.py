"""Targets: parsing, loss, metrics, and unsuitable values."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.tasks.targets import (
    BoxesTarget,
    ManyClasses,
    MapTarget,
    MultiHot,
    NumberTarget,
    OneClass,
)

LABEL = OneClass(name="label", classes=("a", "b"))
NAME = OneClass(name="name", is_text=True, classes=("ä", "b"))
TAGS = ManyClasses(name="tags", classes=("a", "b", "c"))
HOT = MultiHot(name="hot", classes=("0", "1", "2"))
MAP = MapTarget(name="seg", classes=("a", "b", "c"))
PRICE = NumberTarget(name="price", size=2, mean=(10.0, 0.0), variance=(4.0, 100.0))


def in_pipeline(target, values):
    """Apply the target's step in the input pipeline to one batch."""
    columns = tf.data.Dataset.from_tensors({target.name: values})
    return next(iter(columns.map(target.host_step()))).numpy()


@pytest.mark.parametrize(
    ("target", "stored", "expected"),
    [
        pytest.param(LABEL, [0, 1], [0, 1], id="numbers"),
        pytest.param(NAME, ["b", "ä"], [1, 0], id="names"),
        pytest.param(TAGS, [[2, 0, 2], [-1, -1, -1]], [[1, 0, 1], [0, 0, 0]], id="several"),
        pytest.param(TAGS, np.zeros([2, 0], np.int64), [[0, 0, 0]] * 2, id="none at all"),
        pytest.param(HOT, [[0, 1, 1], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]], id="0 or 1 for each"),
        pytest.param(HOT, [[0.0, 1.0, 0.0]], [[0, 1, 0]], id="0.0 or 1.0 for each"),
        pytest.param(MAP, [[[[2], [255]]]], [[[2, 255]]], id="pixels, some of them ignored"),
        pytest.param(NumberTarget(name="x"), [3, 4], [[3], [4]], id="scalars"),
        pytest.param(PRICE, [[3.0, 4.0]], [[3, 4]], id="vectors"),
    ],
)
def test_what_is_learned(target, stored, expected):
    np.testing.assert_array_equal(in_pipeline(target, stored), expected)


@pytest.mark.parametrize(
    ("target", "stored", "said", "wrong"),
    [
        pytest.param(LABEL, [0, 1, 0, 1, -1], "is not one of the 2 classes", "-1", id="no label"),
        pytest.param(LABEL, [0, 1, 0, 1, 2], "is not one of the 2 classes", "2", id="too large"),
        pytest.param(NAME, ["b", "c"], "is not one of the 2 classes", "c", id="unknown name"),
        pytest.param(TAGS, [[0, 3]], "is not one of the 3", "3", id="several"),
        pytest.param(MAP, [[[[1], [3]]]], "seg of a record is not one of the 3", "3", id="pixels"),
        pytest.param(HOT, [[0, 1, 2]], "hot of a record is not 0 or 1", "2", id="no 0 or 1"),
        (PRICE, [[1.0, np.nan]], "price of a record is not finite", "nan"),
        (PRICE, [[1.0, np.inf]], "price of a record is not finite", "inf"),
    ],
)
def test_targets_that_cannot_be_learned_are_an_error(target, stored, said, wrong):
    dtype = {NAME: tf.string, PRICE: tf.float32, MAP: tf.uint8}.get(target, tf.int64)

    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{said}.*Found:\] \[{wrong}\]"):
        in_pipeline(target, tf.constant(stored, dtype))


def log1pexp(x):
    return np.log1p(np.exp(x))


@pytest.mark.parametrize(
    ("target", "values", "outputs", "loss", "metrics"),
    [
        pytest.param(
            LABEL,
            [0, 1, 1],
            [[2.0, 0], [0, 1], [1, 0]],
            [log1pexp(-2), log1pexp(-1), log1pexp(1)],
            {"accuracy": [1, 1, 0]},
            id="one class",
        ),
        pytest.param(
            TAGS,
            [[1.0, 1, 0], [0, 0, 0], [1, 0, 0]],
            [[2.0, -1, -1], [-1, -1, -1], [3, -3, 1]],
            [
                (log1pexp(-2) + log1pexp(1) + log1pexp(-1)) / 3,
                log1pexp(-1),
                (2 * log1pexp(-3) + log1pexp(1)) / 3,
            ],
            {"f1": [2 / 3, 1, 2 / 3], "exact": [0, 1, 0]},
            id="several classes",
        ),
        pytest.param(
            PRICE,
            [[10.0, 0], [14, 5]],
            [[10.0, 0], [10, -5]],
            [0, ((2 - 0.25) + (1 - 0.25)) / 2],  # linear from half a deviation on
            {"mse": [0, (16 + 100) / 2], "mae": [0, (4 + 10) / 2]},
            id="numbers",
        ),
    ],
)
def test_loss_and_metrics_by_example(target, values, outputs, loss, metrics):
    values, outputs = tf.constant(values), tf.constant(outputs)

    np.testing.assert_allclose(target.loss(values, outputs), loss, rtol=1e-5, atol=1e-7)
    assert list(target.metrics) == list(metrics)
    for name, expected in metrics.items():
        np.testing.assert_allclose(target.metrics[name](values, outputs), expected, rtol=1e-6)


def test_the_head_yields_numbers_in_their_unit():
    x = keras.Input((3,))
    model = keras.Model(x, PRICE.head(x))
    model.get_layer("standardized").set_weights([np.zeros([3, 2]), np.array([0.5, -1])])

    np.testing.assert_allclose(model(np.ones([1, 3])), [[10 + 0.5 * 2, -10]])


@pytest.mark.parametrize(
    ("target", "outputs", "row", "lines"),
    [
        (
            *(NAME, [0.0, np.log(3)]),
            {"prediction": "b", "probability": 0.75, "probabilities": {"ä": 0.25, "b": 0.75}},
            {"prediction": "b", "probability": 0.75},
        ),
        (
            *(TAGS, [0.0, np.log(3), np.log(4)]),
            {"prediction": ["b", "c"], "probabilities": {"a": 0.5, "b": 0.75, "c": 0.8}},
            {"prediction": "b c"},
        ),
        (NumberTarget(name="x"), [2.5], {"prediction": 2.5}, {"x": 2.5}),
        (PRICE, [2.5, 3], {"prediction": [2.5, 3]}, {"price_0": 2.5, "price_1": 3}),
    ],
)
def test_what_is_said_of_a_record(target, outputs, row, lines):
    decoded = target.decode(tf.constant([outputs], tf.float32))

    said = target.row({name: value.numpy()[0] for name, value in decoded.items()}, None, 0.0)

    assert said == {
        name: pytest.approx(value) if "prob" in name else value for name, value in row.items()
    }
    (line,) = target.lines(said)
    assert dict(zip(target.columns, line, strict=True)) == {
        name: pytest.approx(value) if "prob" in name else value for name, value in lines.items()
    }


def test_what_is_said_of_boxes():
    target = BoxesTarget(name="boxes", classes=("a", "b"), height=64, width=64)
    decoded = {
        "boxes": np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1], [0, 0, 0, 0]], np.float32),
        "labels": np.array([1, 0, -1]),
        "scores": np.array([0.75, 0.25, 0], np.float32),
        "classes": np.array([b"b", b"a", b""], object),
    }
    image = tf.io.encode_png(np.zeros([10, 20, 3], np.uint8)).numpy()

    row = target.row(decoded, image, 0.5)

    box = {"class": "b", "label": 1, "score": 0.75, "box": [0.0, 0.0, 10.0, 10.0]}
    assert row == {"width": 20, "height": 10, "detections": [box]}
    assert target.lines(row) == [["b", 0.75, 0.0, 0.0, 10.0, 10.0]]
    assert len(target.columns) == 6
