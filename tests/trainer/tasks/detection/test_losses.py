"""The loss of the detector."""

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.detection import assign, giou, points_of
from trainer.tasks.targets import BoxesTarget

POINTS = points_of(ImageSize(64, 64))
NUM_CLASSES = 2
GOAL = BoxesTarget(name="boxes", classes=("a", "b"), height=64, width=64)


def loss(target, outputs):
    return GOAL.loss(GOAL.with_totals(target), outputs)


def make_target(*boxes_of_each):
    """Make the target of images with these boxes in 0..1, all of class 1."""
    longest = max(map(len, boxes_of_each))
    boxes = np.full((len(boxes_of_each), longest, 4), -1, np.float32)
    labels = np.full(boxes.shape[:2], -1, np.int64)
    for number, of_image in enumerate(boxes_of_each):
        boxes[number, : len(of_image)] = np.reshape(of_image, (-1, 4))
        labels[number, : len(of_image)] = 1
    return {
        "boxes": tf.constant(boxes),
        "labels": tf.constant(labels),
        "crowd": tf.zeros(labels.shape, tf.bool),
        "records": tf.ones(len(labels)),
    }


TARGET = make_target(
    [[0.1, 0.1, 0.5, 0.4], [0.5, 0.5, 0.9, 0.95]], [], [[0.3, 0.2, 0.7, 0.6]], [[0.0, 0.5, 0.5, 1]]
)
OUTPUTS = tf.random.stateless_normal([4, len(POINTS), NUM_CLASSES + 5], seed=[3, 4])


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param([0, 0, 2, 2], 1.0, id="equal"),
        pytest.param([1, 0, 3, 2], 2 / 6, id="half over"),
        pytest.param([2, 0, 4, 2], 0.0, id="side by side"),
        pytest.param([4, 0, 6, 2], -4 / 12, id="apart"),
    ],
)
def test_giou(second, expected):
    assert giou(tf.constant([0.0, 0, 2, 2]), tf.constant(second, tf.float32)).numpy() == (
        pytest.approx(expected, abs=1e-6)
    )


@pytest.mark.slow
def test_boxes_are_assigned_once_a_step():
    step = tf.function(lambda target, outputs: loss(target, outputs), autograph=False)
    graph = step.get_concrete_function(TARGET, OUTPUTS).graph

    found = [operation for operation in graph.get_operations() if operation.type == "ArgMin"]

    assert len(found) == len(POINTS.levels)


def test_the_right_class_and_box_lower_the_loss():
    found = assign(POINTS, TARGET["boxes"], TARGET["labels"])
    centers, strides = POINTS.centers, POINTS.strides[:, None]
    sides = tf.concat([centers - found.boxes[..., :2], found.boxes[..., 2:] - centers], axis=-1)
    strides_away = tf.maximum(sides / strides, 0.01)
    raw = tf.math.log(tf.math.expm1(strides_away))
    is_box = tf.cast(found.labels >= 0, tf.float32)[..., None]
    logits = tf.concat([tf.fill([*is_box.shape[:2], 1], -9.0), is_box * 18 - 9], axis=-1)
    odds = tf.clip_by_value(found.centerness, 1e-3, 1 - 1e-3)[..., None]
    right = tf.concat([logits, raw, tf.math.log(odds / (1 - odds))], axis=-1)

    by_record = loss(TARGET, right).numpy()

    assert by_record.shape == (4,)
    # For a centerness between 0 and 1, cross entropy is never 0.
    assert by_record.mean() < 0.7
    assert by_record.mean() < loss(TARGET, OUTPUTS).numpy().mean() / 3


def test_a_crowd_is_background():
    crowd = TARGET | {"crowd": TARGET["labels"] >= 0}
    nothing = make_target([], [], [], [])

    np.testing.assert_allclose(loss(crowd, OUTPUTS), loss(nothing, OUTPUTS))


def test_the_padding_of_a_batch_does_not_change_its_loss():
    short = tf.nest.map_structure(lambda value: value[:3], TARGET)
    padded = tf.nest.map_structure(
        lambda value: tf.concat([value, value[:1] * 0], 0),
        {
            name: tf.cast(value, tf.int32) if value.dtype == tf.bool else value
            for name, value in short.items()
        },
    ) | {"crowd": tf.zeros([4, 2], tf.bool)}

    alone = loss(short, OUTPUTS[:3]).numpy()

    np.testing.assert_allclose(loss(padded, OUTPUTS)[:3], alone, rtol=1e-6)


def test_parts_add_up_to_the_loss_of_the_whole_batch():
    """One part has two boxes, the other two in two images."""
    whole = loss(TARGET, OUTPUTS)

    target = GOAL.with_totals(TARGET)
    parts = [
        GOAL.loss(
            tf.nest.map_structure(lambda value, rows=rows: value[rows], target), OUTPUTS[rows]
        )
        for rows in (slice(0, 2), slice(2, 4))
    ]

    np.testing.assert_allclose(tf.concat(parts, axis=0), whole, rtol=1e-6)


@pytest.mark.slow
def test_replicas_add_up_to_the_loss_of_the_whole_batch(two_replicas):
    """Replicas have different numbers of boxes, and one has an image without boxes."""
    whole = loss(TARGET, OUTPUTS).numpy()
    parts = tf.data.Dataset.from_tensors((TARGET, OUTPUTS)).unbatch().batch(4)
    (batch,) = two_replicas.experimental_distribute_dataset(parts)

    losses = two_replicas.run(tf.function(loss, autograph=False), args=batch)
    by_replica = [part.numpy() for part in two_replicas.experimental_local_results(losses)]

    assert [len(part) for part in by_replica] == [2, 2]
    np.testing.assert_allclose(np.concatenate(by_replica), whole, rtol=1e-6)
