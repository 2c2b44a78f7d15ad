"""Mosaics: boxes lie where their pixels do, and all is a function of seed, step and place."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.augmentation.mosaic import Mosaics, draw_mosaics, put_together
from trainer.views import Views, draw

HEIGHT, WIDTH = 48, 64
CORNERS = np.array([[0, 0], [WIDTH, 0], [0, HEIGHT], [WIDTH, HEIGHT]])


def batch_of(boxes):
    """Boxes of records, padded, and which are boxes."""
    padded = np.full((len(boxes), max(map(len, boxes)), 4), -1, np.float32)
    for row, some in zip(padded, boxes, strict=True):
        row[: len(some)] = np.reshape(some, (-1, 4))
    return padded, padded[..., 0] >= 0


@pytest.fixture(scope="module")
def placed_of_eight():
    """What `put_together` does to the boxes of eight records, compiled once."""

    @tf.function(autograph=False, reduce_retracing=True)
    def placed(mosaics, boxes, is_box):
        return put_together(mosaics, tf.zeros([8, HEIGHT, WIDTH, 3], tf.uint8), boxes, is_box)[1]

    return placed


@settings(max_examples=settings().max_examples // 4)
@given(seed=st.integers(0, 2**32 - 1), step=st.integers(0, 1000))
def test_boxes_are_those_of_the_parts_moved_and_cut(placed_of_eight, seed, step):
    """Reckoned here in pixels of the four images, from the part that is seen of them."""
    random = np.random.default_rng([seed, step])
    ends = [np.sort(random.random((random.integers(0, 4), 2, 2)), axis=1) for _ in range(8)]
    padded, is_box = batch_of(ends)
    mosaics = draw_mosaics(0.7, seed, tf.constant(step), 8)

    placed = placed_of_eight(mosaics, tf.constant(padded), tf.constant(is_box))

    for row in range(8):
        own = [row * padded.shape[1] + n for n in np.flatnonzero(is_box[row])]
        expected = dict(zip(own, padded[row][is_box[row]], strict=True))
        if mosaics.is_one[row]:
            expected = seen_of_four(padded, is_box, row, mosaics.seed[row])
        found = placed.origin[row].numpy()
        assert found[found >= 0].tolist() == [*expected]
        assert (placed.boxes[row].numpy()[found < 0] == -1).all()
        if expected:
            values = placed.boxes[row].numpy()[found >= 0]
            np.testing.assert_allclose(values, [*expected.values()], atol=1e-5)


def seen_of_four(padded, is_box, row, seed):
    """The boxes of a mosaic by their number in the batch."""
    tiles = [row // 4 * 4 + (row + turn) % 4 for turn in range(4)]
    whole = [
        (tile * padded.shape[1] + n, padded[tile, n] * ([WIDTH, HEIGHT] * 2) + [*corner, *corner])
        for tile, corner in zip(tiles, CORNERS, strict=True)
        for n in np.flatnonzero(is_box[tile])
    ]
    inside = np.float32([box / ([2 * WIDTH, 2 * HEIGHT] * 2) for _, box in whole]).reshape(-1, 4)
    sides = tf.constant([2 * HEIGHT, 2 * WIDTH])
    top, left, height, width = draw(
        Views(area=(0.25, 1.0)), seed, sides, tf.constant(inside)
    ).window.numpy()
    assert HEIGHT <= height <= 2 * HEIGHT
    assert WIDTH <= width <= 2 * WIDTH
    seen = {}
    for number, box in whole:
        cut = np.clip(box, [left, top] * 2, [left + width, top + height] * 2)
        areas = [(each[2] - each[0]) * (each[3] - each[1]) for each in (cut, box)]
        if areas[0] > 0 and areas[0] >= 0.3 * areas[1]:
            seen[number] = (cut - [left, top] * 2) / ([width, height] * 2)
    return seen


def test_a_box_is_where_its_pixels_are():
    """Of each four, three have a square in a channel of its own."""
    images = np.zeros((8, HEIGHT, WIDTH, 3), np.uint8)
    boxes = np.full((8, 1, 4), -1, np.float32)
    squares = [number for number in range(8) if number % 4 < 3]
    for number in squares:
        x, y = 8 + 4 * number, 10 + 2 * number
        images[number, y : y + 16, x : x + 20, number % 4] = 255
        boxes[number, 0] = np.array([x, y, x + 20, y + 16]) / ([WIDTH, HEIGHT] * 2)
    mosaics = draw_mosaics(1.0, 3, tf.constant(9), 8)

    shown, placed = put_together(
        mosaics, tf.constant(images), tf.constant(boxes), tf.constant(boxes[..., 0] >= 0)
    )

    seen = 0
    for row in range(8):
        for box, origin in zip(placed.boxes[row].numpy(), placed.origin[row].numpy(), strict=True):
            if origin >= 0:
                assert origin in squares
                assert origin // 4 == row // 4
                there = shown[row, ..., origin % 4].numpy() > 127
                rows, columns = (np.flatnonzero(there.any(axis=axis)) for axis in (1, 0))
                found = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
                np.testing.assert_allclose(found, box * ([WIDTH, HEIGHT] * 2), atol=1.1)
                seen += 1
    assert seen > 12


def test_records_without_a_mosaic_stay_and_the_share_holds():
    drawn = draw_mosaics(0.25, 1, tf.constant(2), 4000)
    assert drawn.is_one.numpy().mean() == pytest.approx(0.25, abs=0.03)

    images = np.random.default_rng(0).integers(0, 255, (4, 8, 8, 1), np.uint8)
    boxes, is_box = batch_of([[(0, 0, 1, 1)], [], [(0.5, 0, 1, 0.5)] * 2, []])
    none = Mosaics(tf.zeros([4], tf.bool), drawn.seed[:4])
    shown, placed = put_together(none, tf.constant(images), tf.constant(boxes), tf.constant(is_box))
    np.testing.assert_array_equal(shown, images)
    np.testing.assert_array_equal(placed.boxes, boxes)
    assert placed.of(tf.constant([[5, -1], [-1, -1], [6, 7], [-1, -1]]), -1).numpy().tolist() == [
        *([5, -1], [-1, -1], [6, 7], [-1, -1])
    ]


def test_boxes_are_cut_and_padded_to_a_number():
    boxes, is_box = batch_of([[(0.4, 0.4, 0.6, 0.6)] * 3] * 4)
    images = tf.zeros([4, 8, 8, 3], tf.uint8)
    all_of_them = draw_mosaics(1.0, 0, tf.constant(0), 4)

    for most in (1, 40):
        _, placed = put_together(
            all_of_them, images, tf.constant(boxes), tf.constant(is_box), most=most
        )
        assert placed.boxes.shape == (4, most, 4)
        assert (placed.origin[:, 0].numpy() >= 0).all()


def test_what_is_drawn_depends_on_seed_and_step_alone():
    def drawn(seed, step):
        return draw_mosaics(0.5, seed, tf.constant(step), 64)

    for again, other in ((drawn(3, 5), drawn(3, 6)), (drawn(3, 5), drawn(4, 5))):
        for mine, same, another in zip(drawn(3, 5), again, other, strict=True):
            np.testing.assert_array_equal(mine, same)
            assert (mine.numpy() != another.numpy()).any()
