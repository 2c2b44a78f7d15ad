"""Letterboxes keep the aspect of images, and boxes can be mapped back."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer import parsing
from trainer.tasks.detection import in_image
from trainer.views import WHOLE, Views, draw, see_boxes, whole
from trainer.views.pixels import GREY, see_image

SIZE = ImageSize(64, 96)
LETTERBOX = Views(letterbox=True)
SIDES = st.integers(1, 3000)
SHARES = st.floats(0, 1, width=32)


@given(st.tuples(SIDES, SIDES), st.lists(st.tuples(SHARES, SHARES, SHARES, SHARES), max_size=4))
def test_boxes_come_back(image, corners):
    boxes = np.float32([[*np.minimum(c[:2], c[2:]), *np.maximum(c[:2], c[2:])] for c in corners])
    view = whole(tf.constant(image), SIZE)
    seen, visible = see_boxes(LETTERBOX, view, tf.constant(boxes.reshape(-1, 4)))

    assert visible.numpy().all()
    np.testing.assert_allclose(
        in_image(seen[None], view.shares[None])[0], boxes.reshape(-1, 4), atol=1e-5
    )
    # The image covers whole pixels, with its aspect to within one pixel.
    (shown,), _ = see_boxes(LETTERBOX, view, tf.constant([[0.0, 0.0, 1.0, 1.0]]))
    left, top, right, bottom = sides = shown.numpy() * [96, 64, 96, 64]
    np.testing.assert_allclose(sides, np.round(sides), atol=1e-4)
    scale = min(64 / image[0], 96 / image[1])
    assert bottom - top == pytest.approx(max(1, image[0] * scale), abs=0.501)
    assert right - left == pytest.approx(max(1, image[1] * scale), abs=0.501)


@pytest.mark.parametrize("size", [(40, 40), (30, 90), (64, 96), (200, 17), (1000, 1500)])
def test_a_box_surrounds_its_pixels(size):
    """Applies to whole images, and to crops as shares of the letterbox."""
    height, width = size
    box = tf.constant([[0.25, 0.25, 0.75, 0.75]])
    image = np.zeros((height, width, 3), np.uint8)
    rows, columns = (slice(round(side / 4), round(side * 3 / 4)) for side in size)
    image[rows, columns] = 255
    crops = Views(area=(0.35, 1.5), aspect=(0.8, 1.25), mirror=True, letterbox=True)
    for views, number in ((LETTERBOX, 0), (crops, 1), (crops, 2)):
        view = draw(views, tf.constant([5, number], tf.int64), tf.constant(size), box, SIZE)
        shown = see_image(view, tf.constant(image), SIZE, views).numpy()[..., 0]
        (expected,), _ = see_boxes(views, view, box)
        rows, columns = (np.flatnonzero((shown > 190).any(axis=axis)) for axis in (1, 0))
        found = [columns[0] / 96, rows[0] / 64, (columns[-1] + 1) / 96, (rows[-1] + 1) / 64]
        np.testing.assert_allclose(found, expected, atol=2.1 / 64)
        if views is LETTERBOX and height * 96 != width * 64:
            assert GREY in (shown[0, 0], shown[-1, -1])


def test_an_image_of_the_same_aspect_is_seen_as_a_stretched_one():
    pixels = np.random.default_rng(0).integers(0, 255, (128, 192, 3), dtype=np.uint8)
    image = tf.constant(pixels)
    boxed = see_image(whole(tf.constant([128, 192]), SIZE), image, SIZE, LETTERBOX)
    stretched = see_image(whole(tf.constant([128, 192])), image, SIZE, WHOLE)
    np.testing.assert_array_equal(boxed, stretched)


def test_the_window_is_given_with_the_image():
    feature = Feature(name="image", kind="image", dtype="uint8", key="image", shape=(None, None, 3))
    decoding = parsing.Decoding(image_size=SIZE, views=LETTERBOX)
    parsed = {"image": tf.io.encode_png(np.zeros((64, 64, 3), np.uint8))[None]}

    decoded = parsing.decode_batch([feature], parsed, decoding)

    np.testing.assert_allclose(decoded["image_window"], [[-0.25, 0, 1.25, 1]])
    assert decoded["image"].shape == (1, 64, 96, 3)
