"""Drawings are visible at the right place, in images of any size."""

import numpy as np
import pytest
from file_bytes import image_bytes
from PIL import Image

from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.records import Objects
from beam_pipeline.report.drawing import COLORS, Shading, color_of, draw
from tfrecord_dataset.map_colors import palette

GREY = 128


def encoded(size: tuple[int, int], mode: str = "RGB") -> bytes:
    return image_bytes(Image.new(mode, size, GREY if mode == "L" else (GREY,) * 3))


def relative(*rows: tuple[float, float, float, float], labels: tuple[str, ...] = ()) -> Objects:
    return Objects(boxes=rows, format="rel_xyxy", labels=labels)


def drawn(*arguments, **keywords) -> np.ndarray:
    return np.asarray(draw(*arguments, **keywords))


def where(pixels: np.ndarray, color: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Return xmin, ymin, xmax, ymax of all pixels with a colour."""
    rows, columns = np.nonzero((pixels == color).all(axis=2))
    return columns.min(), rows.min(), columns.max(), rows.max()


@pytest.mark.parametrize("size", [(20, 17), (3, 90), (640, 480), (480, 640), (2400, 1800)])
def test_a_box_is_drawn_in_its_place(size):
    pixels = drawn(encoded(size), relative((0.25, 0.5, 0.75, 1.0)))

    height, width = pixels.shape[:2]
    assert max(width, height) >= 400
    assert width / height == pytest.approx(size[0] / size[1])
    assert where(pixels, color_of("")) == pytest.approx(
        (width * 0.25, height * 0.5, width * 0.75, height), abs=1.5
    )
    assert (pixels[height * 3 // 4, width // 2] == GREY).all()


def test_a_name_is_written_above_its_box_or_inside_the_image():
    box = (0.4, 0.5, 0.6, 0.6)
    pixels = drawn(encoded((640, 480)), relative(box, labels=("cell",)), classes=("cell",))
    assert where(pixels, COLORS[0])[1] < 0.5 * 480 - 10

    for corner in ((0.0, 0.0, 0.05, 0.05), (0.95, 0.0, 1.0, 0.05), (0.95, 0.95, 1.0, 1.0)):
        bare = drawn(encoded((640, 480)), relative(corner))
        named = drawn(encoded((640, 480)), relative(corner, labels=("cell",)))
        ink = (named != GREY).any(axis=2).sum() - (bare != GREY).any(axis=2).sum()
        assert ink > 200


@pytest.mark.parametrize("order", [1, -1])
def test_small_boxes_are_above_large_ones(order):
    boxes, labels = ((0.25, 0.25, 0.5, 1.0), (0.25, 0.75, 0.4, 0.9))[::order], ("a", "b")[::order]
    pixels = drawn(encoded((640, 480)), relative(*boxes, labels=labels), classes=("a", "b"))
    assert tuple(pixels[400, 160]) == COLORS[1]


def test_keypoints_that_are_visible_are_drawn():
    boxes = Objects(
        boxes=((0.0, 0.0, 1.0, 1.0), (0.5, 0.5, 0.502, 0.502)),
        format="rel_xyxy",
        labels=("cat", "a point below its name"),
        keypoints=((0.75, 0.5, 2.0, 0.25, 0.25, 0.0), (0.501, 0.501, 2.0)),
    )
    pixels = drawn(encoded((640, 480)), boxes)
    assert (pixels[240, 480] == 255).all()
    assert (pixels[240, 320] == 255).all()
    assert (pixels[120, 160] == GREY).all()


def test_masks_are_filled_and_polygons_are_lines():
    pixels = np.zeros((48, 64), np.uint8)
    pixels[12:24, 16:32] = 1
    boxes = Objects(
        boxes=((0.25, 0.25, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0)),
        format="rel_xyxy",
        polygons=((), ((0.5, 0.75, 0.75, 0.5, 1.0, 0.75),)),
        masks=(mask_of(pixels), None),
    )
    seen = drawn(encoded((640, 480)), boxes)
    color = np.array(color_of(""))
    filled, bare = seen[180, 240].astype(int), seen[60, 80]
    assert (filled != GREY).all()
    assert np.abs(filled - GREY).max() < np.abs(color - GREY).max()  # translucent
    assert seen[np.ix_(range(296, 306), range(396, 406))].reshape(-1, 3).tolist().count([*color])
    assert (bare == GREY).all()


@pytest.mark.parametrize("size", [(1200, 900), (90, 360)])
def test_at_most_so_large(size):
    pixels = drawn(encoded(size), relative((0.25, 0.5, 0.75, 1.0)), most_side=360)
    height, width = pixels.shape[:2]
    assert max(width, height) in (360, 720), "small ones are enlarged, all the same"
    assert where(pixels, color_of(""))[1] == pytest.approx(height / 2, abs=2)


def test_a_map_is_laid_over_its_image_in_the_colours_of_its_classes():
    numbers = np.zeros((48, 64), np.uint8)
    numbers[:24, :32], numbers[24:, 32:], numbers[24:, :32] = 1, 2, 255
    shading = Shading(image_bytes(numbers), ("background", "sky", "road"))

    pixels = drawn(encoded((640, 480)), shading=shading)

    assert (pixels[470, 5] == GREY).all()  # ignored
    assert (pixels[5, 630] == GREY).all()  # background
    sky, road = palette()[1:3].tolist()
    for color, (row, column) in ((sky, (5, 5)), (road, (470, 630))):
        np.testing.assert_allclose(pixels[row, column], (np.array(color) + GREY) / 2, atol=1)
    assert where(pixels, sky)[3] < 240 <= where(pixels, road)[3]  # names


def test_depths_are_a_scale_of_colours():
    numbers = np.linspace(1000, 9000, 64).astype(np.uint16)[None].repeat(48, 0)
    numbers[0] = 0

    pixels = drawn(encoded((640, 480)), shading=Shading(image_bytes(numbers), ())).astype(int)

    assert (pixels[2] == GREY).all()
    reds = pixels[200, :, 0]
    assert (np.diff(reds) <= 0).all()
    assert reds[0] - reds[-1] > 80
