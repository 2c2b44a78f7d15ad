"""Views apply the same crop to pixels, boxes and keypoints."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer import parsing
from trainer.errors import ConfigError
from trainer.tasks.detection import in_image
from trainer.views import WHOLE, View, Views, draw_view, see_boxes, see_keypoints, whole_view
from trainer.views.pixels import GREY, decode_jpeg, see_image

SIZE = tf.constant([120, 160])


def view(top=0, left=0, height=120, width=160, flips=(False, False)):
    return View(tf.constant([top, left, height, width], tf.float32), SIZE, tf.constant(flips))


BOX = (0.1, 0.2, 0.3, 0.5)
MIRROR, UPSIDE_DOWN = (True, False), (False, True)


@pytest.mark.parametrize(
    ("seen_by", "box", "expected", "is_visible"),
    [
        (view(), BOX, BOX, True),
        (view(flips=MIRROR), BOX, (0.7, 0.2, 0.9, 0.5), True),
        (view(flips=UPSIDE_DOWN), BOX, (0.1, 0.5, 0.3, 0.8), True),
        (view(60, 80, 60, 80), (0.5, 0.5, 0.75, 1), (0, 0, 0.5, 1), True),  # lower right
        # Cropped, then mirrored; two thirds remain.
        (view(0, 40, 120, 80, MIRROR), (0.125, 0, 0.5, 0.5), (0.5, 0, 1, 0.5), True),
        (view(0, 60, 120, 80), (0.125, 0, 0.4, 1), (0, 0, 0.05, 1), False),  # too little remains
        (view(0, 80, 120, 80), (0, 0, 0.4, 1), (0, 0, 0, 1), False),  # outside
        (view(-120, -160, 240, 320), (0, 0, 1, 0.5), (0.5, 0.5, 1, 0.75), True),  # twice as large
    ],
)
def test_boxes(seen_by, box, expected, is_visible):
    boxes, visible = see_boxes(
        Views(area=(0.5, 1.0), least_box_area=0.5), seen_by, tf.constant([box], tf.float32)
    )

    np.testing.assert_allclose(boxes, [expected], atol=1e-6)
    assert visible.numpy().tolist() == [is_visible]


def test_keypoints():
    points = tf.constant([[[0.5, 0.25, 2.0], [0.1, 0.1, 1.0], [-1.0, -1.0, -1.0]]])

    seen = see_keypoints(view(left=40, width=80, flips=(True, False)), points).numpy()[0]

    np.testing.assert_allclose(seen[0], [0.5, 0.25, 2.0])
    assert seen[1, 2] == 0  # left of the window
    assert seen[2].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("flips", "order"),
    [
        ((False, False), [0, 1, 2]),
        ((True, False), [0, 2, 1]),
        ((False, True), [0, 2, 1]),
        ((True, True), [0, 1, 2]),  # half turn
    ],
)
def test_keypoints_of_left_and_right_change_places_in_a_mirror(flips, order):
    points = tf.constant([[[0.5, 0.1, 2.0], [0.4, 0.2, 1.0], [0.7, 0.2, 2.0]]])
    stays, changes = view(flips=flips), see_keypoints(view(flips=flips), points, (0, 2, 1))
    np.testing.assert_allclose(changes, see_keypoints(stays, points).numpy()[:, order])


def marked(box):
    """Make a black image of 120 x 160 with a white box."""
    image = np.zeros((120, 160, 3), np.uint8)
    xmin, ymin, xmax, ymax = np.round(np.multiply(box, [160, 120, 160, 120])).astype(int)
    image[ymin:ymax, xmin:xmax] = 255
    return image


def white_box(image, least=128):
    rows, columns = (np.flatnonzero((image[..., 0] >= least).any(axis=axis)) for axis in (1, 0))
    height, width = image.shape[:2]
    return np.divide(
        [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], [width, height, width, height]
    )


VIEWS = Views(area=(0.3, 2.5), aspect=(0.7, 1.4), mirror=True, upside_down=True)


def test_a_box_surrounds_its_pixels():
    """Apply the same view to decoded pixels, a JPEG, a mask, and the box."""
    box = (0.3, 0.4, 0.7, 0.8)
    image = marked(box)
    jpeg = tf.io.encode_jpeg(image, quality=95)
    places = set()

    for number in range(6):
        seen_by = draw_view(VIEWS, tf.constant([3, number], tf.int64), SIZE, tf.constant([box]))
        (expected,), _ = see_boxes(VIEWS, seen_by, tf.constant([box]))
        decoded = see_image(seen_by, image, (40, 60), VIEWS).numpy()
        from_jpeg = decode_jpeg(seen_by, jpeg, (40, 60), 3, VIEWS).numpy()
        mask = see_image(seen_by, image, (40, 60), VIEWS, fill=0, nearest=True).numpy()
        places.add(tuple(np.round(expected, 2)))

        assert decoded.shape == from_jpeg.shape == (40, 60, 3)
        assert decoded.dtype == from_jpeg.dtype == np.uint8
        assert set(mask.ravel()) <= {0, 255}
        for pixels in (decoded, from_jpeg, mask):
            np.testing.assert_allclose(white_box(pixels), expected, atol=1.1 / 40)
    assert len(places) == 6


@pytest.mark.parametrize("size", [(375, 500), (47, 1000), (3, 5), (1, 1)])
def test_windows_stay_within_the_image(size):
    views = Views(area=(0.25, 1.0), aspect=(0.75, 4 / 3))
    for number in range(12):
        seed = tf.constant([1, number])
        window = draw_view(views, seed, tf.constant(size)).window.numpy().tolist()
        for start, extent, side in zip(window[:2], window[2:], size, strict=True):
            assert 0 <= start < start + extent <= side


def test_a_view_shows_a_box_where_there_is_one():
    views = Views(area=(0.05, 0.05))
    corner = tf.constant([[0.9, 0.9, 1.0, 1.0]])

    for number in range(8):
        seen_by = draw_view(views, tf.constant([7, number], tf.int64), SIZE, corner)
        assert see_boxes(views, seen_by, corner)[1].numpy().tolist() == [True]


def test_a_photograph_is_scaled_by_the_decoder_without_moving():
    """Compare a window at a quarter of its size with fully decoded, resized pixels."""
    rng = np.random.default_rng(0)
    smooth = tf.image.resize(rng.uniform(0, 255, (8, 10, 3)), (480, 640), method="bicubic")
    jpeg = tf.io.encode_jpeg(tf.cast(tf.clip_by_value(smooth, 0, 255), tf.uint8), quality=97)
    image = tf.io.decode_jpeg(jpeg)
    views = Views(area=(0.5, 0.5))
    seen_by = draw_view(views, tf.constant([1, 2]), tf.constant([480, 640]))

    fast = decode_jpeg(seen_by, jpeg, (60, 80), 3, views).numpy().astype(int)

    assert np.abs(fast - see_image(seen_by, image, (60, 80), views).numpy()).mean() < 1.5
    all_of_it = whole_view(tf.constant([480, 640]))
    everything = decode_jpeg(all_of_it, jpeg, (60, 80), 3, WHOLE).numpy().astype(int)
    assert np.abs(fast - everything).mean() > 5


def test_a_fine_pattern_becomes_grey_instead_of_stripes():
    """Without antialiasing, the result's pixels would be pixels of the pattern."""
    stripes = np.tile(np.array([0, 255], np.uint8), (96, 60))[..., None].repeat(3, axis=-1)

    seen = see_image(whole_view(tf.constant([96, 120])), stripes, (24, 30), WHOLE).numpy()

    assert abs(seen[2:-2, 2:-2].astype(int) - 127).max() < 25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"area": (0.0, 1.0)}, r"area=\(0.0, 1.0\) cannot be drawn"),
        ({"aspect": (2.0, 1.0)}, r"aspect=\(2.0, 1.0\) cannot be drawn"),
        ({"least_box_area": 2}, "least_box_area=2 is not a share"),
    ],
)
def test_ranges_that_cannot_be_drawn(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Views(**arguments)


BOXED = ImageSize(64, 96)
LETTERBOX = Views(letterbox=True)
SIDES = st.integers(1, 3000)
SHARES = st.floats(0, 1, width=32)


@given(st.tuples(SIDES, SIDES), st.lists(st.tuples(SHARES, SHARES, SHARES, SHARES), max_size=4))
def test_boxes_come_back(image, corners):
    boxes = np.float32([[*np.minimum(c[:2], c[2:]), *np.maximum(c[:2], c[2:])] for c in corners])
    view = whole_view(tf.constant(image), BOXED)
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
def test_a_box_in_a_letterbox_surrounds_its_pixels(size):
    """Applies to whole images, and to crops as shares of the letterbox."""
    height, width = size
    box = tf.constant([[0.25, 0.25, 0.75, 0.75]])
    image = np.zeros((height, width, 3), np.uint8)
    rows, columns = (slice(round(side / 4), round(side * 3 / 4)) for side in size)
    image[rows, columns] = 255
    crops = Views(area=(0.35, 1.5), aspect=(0.8, 1.25), mirror=True, letterbox=True)
    for views, number in ((LETTERBOX, 0), (crops, 1), (crops, 2)):
        view = draw_view(views, tf.constant([5, number], tf.int64), tf.constant(size), box, BOXED)
        shown = see_image(view, tf.constant(image), BOXED, views).numpy()
        (expected,), _ = see_boxes(views, view, box)
        np.testing.assert_allclose(white_box(shown, 190), expected, atol=2.1 / 64)
        if views is LETTERBOX and height * 96 != width * 64:
            assert GREY in (shown[0, 0, 0], shown[-1, -1, 0])


def test_an_image_of_the_same_aspect_is_seen_as_a_stretched_one():
    pixels = np.random.default_rng(0).integers(0, 255, (128, 192, 3), dtype=np.uint8)
    image = tf.constant(pixels)
    boxed = see_image(whole_view(tf.constant([128, 192]), BOXED), image, BOXED, LETTERBOX)
    stretched = see_image(whole_view(tf.constant([128, 192])), image, BOXED, WHOLE)
    np.testing.assert_array_equal(boxed, stretched)


def test_the_window_is_given_with_the_image():
    feature = Feature(name="image", kind="image", dtype="uint8", key="image", shape=(None, None, 3))
    decoding = parsing.Decoding(image_size=BOXED, views=LETTERBOX)
    parsed = {"image": tf.io.encode_png(np.zeros((64, 64, 3), np.uint8))[None]}

    decoded = parsing.decode_batch([feature], parsed, decoding)

    np.testing.assert_allclose(decoded["image_window"], [[-0.25, 0, 1.25, 1]])
    assert decoded["image"].shape == (1, 64, 96, 3)
