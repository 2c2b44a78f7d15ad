"""Assignment of boxes to points."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tasks.detection import assign, points_of

POINTS = points_of(ImageSize(64, 96))  # 8 x 12, 4 x 6 and 2 x 3 points


def test_points_are_the_centers_of_their_cells():
    assert len(POINTS) == 96 + 24 + 6
    assert POINTS.centers[:2].tolist() == [[4, 4], [12, 4]]
    assert POINTS.centers[96].tolist() == [8, 8]
    assert POINTS.centers[-1].tolist() == [80, 48]


def test_a_size_without_whole_cells_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"--image-size 100x75 is not a multiple of 32.* 96x64"):
        points_of(ImageSize(75, 100))


@pytest.mark.parametrize("boxes", [[], [[-1, -1, -1, -1]]], ids=["none", "padding alone"])
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


def test_there_is_at_most_a_number_for_each_point_and_box():
    batch, most, level = 5, 7, POINTS.levels[0]
    graph = tf.function(functools.partial(assign, POINTS), autograph=False).get_concrete_function(
        tf.TensorSpec([batch, most, 4]), tf.TensorSpec([batch, most], tf.int64)
    )
    outputs = [each for operation in graph.graph.get_operations() for each in operation.outputs]

    sizes = [output.shape.num_elements() for output in outputs]
    assert max(sizes) == batch * len(level.x) * len(level.y) * (most + 1)
