"""Assignment of boxes to points."""

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tasks.detection import assign, detections, giou, points_of
from trainer.tasks.targets import BoxesTarget

POINTS = points_of(ImageSize(64, 96))  # 8 x 12, 4 x 6 and 2 x 3 points


def test_points_are_the_centers_of_their_cells():
    assert len(POINTS) == 96 + 24 + 6
    assert POINTS.centers[:2].tolist() == [[4, 4], [12, 4]]
    assert POINTS.centers[96].tolist() == [8, 8]
    assert POINTS.centers[-1].tolist() == [80, 48]


def test_a_size_without_whole_cells_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"--image-size 100x75 is not a multiple of 32.* 96x64"):
        points_of(ImageSize(75, 100))


@pytest.mark.parametrize("boxes", [[], [[-1, -1, -1, -1]]], ids=["none", "only padding"])
def test_without_boxes_all_is_background(boxes):
    boxes = np.array(boxes, np.float32).reshape(1, -1, 4)
    found = assign(POINTS, tf.constant(boxes), tf.fill(boxes.shape[:2], tf.constant(-1, tf.int64)))

    assert (found.labels.numpy() == -1).all()
    assert (found.centerness.numpy() == 0).all()


def by_hand(points, boxes, labels):
    """Compute labels, boxes and centerness of one record from all pairs of points and boxes."""
    least, most = boxes[:, :2] * points.pixels[:2], boxes[:, 2:] * points.pixels[:2]
    centers = points.centers[:, None]
    sides = np.concatenate([centers - least, most - centers], axis=-1)  # [p, n, 4]
    from_middle = np.abs(centers - (least + most) / 2).max(-1)
    farthest = sides.max(-1)
    reach = np.array([(0, 64), (64, 128), (128, np.inf)])[np.log2(points.strides / 8).astype(int)]
    fits = (
        (sides.min(-1) > 0)
        & (from_middle < 1.5 * points.strides[:, None])
        & (farthest > reach[:, :1])
        & (farthest <= reach[:, 1:])
        & (labels >= 0)
    )
    area = np.where(fits, (most - least).prod(-1), np.inf)
    chosen, found = area.argmin(-1), fits.any(-1)
    before, after = np.split(sides[np.arange(len(points)), chosen], 2, axis=-1)
    ratios = np.minimum(before, after) / np.maximum(np.maximum(before, after), 1e-6)
    centerness = np.sqrt(np.clip(ratios, 0, 1).prod(-1))
    pixels = np.concatenate([least, most], axis=-1)[chosen]
    return np.where(found, labels[chosen], -1), pixels, np.where(found, centerness, 0)


@pytest.mark.parametrize("seed", range(10))
def test_all_points_have_what_all_pairs_of_points_and_boxes_give(seed):
    """Boxes of all sizes: on points, with sides on points, equal, overlapping, and padding."""
    points = points_of(ImageSize(160, 256))
    random = np.random.default_rng(seed)
    corners = random.uniform(0, 1, (3, 12, 2, 2)) ** random.uniform(1, 3)
    on_grid = np.round(corners * [64, 40]) / [64, 40]  # multiples of four pixels
    corners = np.where(random.uniform(size=(3, 12, 1, 1)) < 0.5, on_grid, corners)
    boxes = np.concatenate([corners.min(2), corners.max(2)], axis=-1).astype(np.float32)
    boxes[:, 5] = boxes[:, 4]
    labels = random.integers(-1, 4, (3, 12))

    found = assign(points, tf.constant(boxes), tf.constant(labels, tf.int64))

    for number in range(3):
        expected_labels, expected_boxes, centerness = by_hand(points, boxes[number], labels[number])
        is_box = expected_labels >= 0
        np.testing.assert_array_equal(found.labels[number], expected_labels)
        np.testing.assert_array_equal(found.boxes[number][is_box], expected_boxes[is_box])
        np.testing.assert_allclose(found.centerness[number], centerness, rtol=1e-6)


SQUARE = points_of(ImageSize(64, 64))
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
OUTPUTS = tf.random.stateless_normal([4, len(SQUARE), NUM_CLASSES + 5], seed=[3, 4])


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


def test_the_right_class_and_box_lower_the_loss():
    found = assign(SQUARE, TARGET["boxes"], TARGET["labels"])
    centers, strides = SQUARE.centers, SQUARE.strides[:, None]
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


def outputs(*predictions):
    """Make raw outputs for 2 classes from (point, class, logit, distance in strides)."""
    raw = np.full((1, len(SQUARE), 7), -20, np.float32)
    for point, label, logit, distance in predictions:
        raw[0, point, label] = logit
        raw[0, point, 2:6] = np.log(np.expm1(distance))
        raw[0, point, 6] = 20
    return tf.constant(raw)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        pytest.param([], [], id="none"),
        # Point 9 is at (12, 12): two strides of 8 to each side extend from -4, cut at 0, to 28.
        pytest.param([(9, 1, 0.0, 2.0)], [(1, 0.707, [0, 0, 28, 28])], id="cut at the sides"),
        pytest.param(
            [(18, 0, 3.0, 2.0), (19, 0, 1.0, 2.0)],
            [(0, 0.976, [4, 4, 36, 36]), (0, 0.416, [12, 4, 44, 36])],
            id="the less probable of two on the same object becomes less probable",
        ),
        pytest.param(
            [(18, 0, 1.0, 2.0), (18, 1, 3.0, 2.0)],
            [(1, 0.976, [4, 4, 36, 36]), (0, 0.855, [4, 4, 36, 36])],
            id="classes do not suppress each other",
        ),
    ],
)
def test_detections(predictions, expected):
    found = {
        name: value.numpy()[0] for name, value in detections(SQUARE, outputs(*predictions)).items()
    }

    number = len(expected)
    assert found["labels"].tolist() == [label for label, _, _ in expected] + [-1] * (100 - number)
    assert found["scores"][:number].tolist() == pytest.approx(
        [score for _, score, _ in expected], abs=1e-3
    )
    assert (found["scores"][number:] == 0).all()
    boxes = np.reshape([box for _, _, box in expected], (-1, 4))
    np.testing.assert_allclose(found["boxes"][:number] * 64, boxes, atol=1e-3)
