"""Points, and the boxes that they have to predict."""

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tasks.detection.assignment import assign
from trainer.tasks.detection.points import default_size, points_of

POINTS = points_of(ImageSize(64, 96))  # 8 x 12, 4 x 6 and 2 x 3 points
SCALE = np.array([96, 64, 96, 64], np.float32)


def assigned(boxes, labels):
    """Labels, boxes and centerness by point for boxes in pixels."""
    boxes = np.array(boxes, np.float32).reshape(1, -1, 4) / SCALE
    return (
        part.numpy()[0]
        for part in assign(POINTS, tf.constant(boxes), tf.constant([labels], tf.int64))
    )


def test_points_are_the_centers_of_their_cells():
    assert len(POINTS) == 96 + 24 + 6
    assert POINTS.centers[:2].tolist() == [[4, 4], [12, 4]]
    assert POINTS.centers[96].tolist() == [8, 8]
    assert POINTS.centers[-1].tolist() == [80, 48]


def test_a_size_without_whole_cells_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"--image-size 100x75 is not a multiple of 32.* 96x64"):
        points_of(ImageSize(75, 100))


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (None, (320, 320)),
        ((480, 640), (480, 640)),
        ((75, 100), (64, 96)),
        ((1080, 1920), (352, 640)),
        ((9, 9), (32, 32)),
    ],
)
def test_the_default_size_is_that_of_the_images_as_the_points_need_it(stated, expected):
    assert default_size(stated) == expected
    points_of(ImageSize(*expected))


@pytest.mark.parametrize(
    ("box", "stride", "num_points"),
    [
        # Within 1.5 strides of the middle of a box of 30 x 30 there are 3 x 3 cells.
        pytest.param([21, 21, 51, 51], 8, 9, id="small"),
        pytest.param([22, 22, 26, 26], 8, 0, id="smaller than a cell, between the points"),
        pytest.param([25, 25, 31, 31], 8, 1, id="smaller than a cell, around a point"),
    ],
)
def test_a_box_is_predicted_near_its_middle_by_the_level_of_its_size(box, stride, num_points):
    labels, boxes, centerness = assigned([box], [2])
    positive = labels >= 0

    assert positive.sum() == num_points
    assert set(POINTS.strides[positive]) <= {stride}
    assert (labels[positive] == 2).all()
    np.testing.assert_allclose(boxes[positive], np.tile(box, (num_points, 1)), atol=1e-4)
    assert (centerness[positive] > 0).all()
    assert (centerness[~positive] == 0).all()


def test_a_large_box_is_predicted_by_a_coarse_level():
    points = points_of(ImageSize(256, 256))
    box = tf.constant([[[28.0, 28, 228, 228]]]) / 256

    labels = assign(points, box, tf.constant([[1]], tf.int64)).labels.numpy()[0]

    # Of the cells of 16 pixels, the middles of 2 x 2 are less than 24 pixels from (128, 128).
    assert points.strides[labels == 1].tolist() == [16] * 4


def test_a_point_in_two_boxes_predicts_the_smaller():
    labels, _, _ = assigned([[10, 10, 50, 50], [20, 20, 40, 40]], [0, 1])

    inside = (np.abs(POINTS.centers[:96] - 28) <= 1).all(axis=1)
    assert labels[:96][inside].tolist() == [1]
    assert {0, 1} <= set(labels.tolist())


@pytest.mark.parametrize("boxes", [[], [[-96, -64, -96, -64]]], ids=["none", "padding alone"])
def test_without_boxes_all_is_background(boxes):
    labels, _, centerness = assigned(boxes, [-1] * len(boxes))

    assert (labels == -1).all()
    assert (centerness == 0).all()


def test_centerness_falls_from_the_middle_to_the_sides():
    labels, _, centerness = assigned([[16, 16, 40, 40]], [0])  # its middle is a point
    at = {tuple(map(int, center)): number for number, center in enumerate(POINTS.centers[:96])}

    assert centerness[at[28, 28]] == pytest.approx(1.0)
    # Distances 4 and 20 on the x axis, 12 and 12 on the y axis: the root of 4 / 20.
    assert centerness[at[20, 28]] == pytest.approx(np.sqrt(4 / 20))
    assert labels[at[20, 28]] == 0
