"""Boxes: formats, frames, policies, and turning with the image."""

import io
import math
import struct

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from file_bytes import exif_of, image_bytes
from inspecting import place
from PIL import Image

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import (
    CLIPPED,
    DROPPED_NO_AREA,
    DROPPED_OUTSIDE,
    FORMATS,
)
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.media.images import ImageOptions, encode_image, inspect_image
from beam_pipeline.records import Objects
from tfrecord_dataset.image_size import ImageSize

SIZE = ImageSize(height=100, width=200)
FRAME = Frame(size=SIZE)
TURNED = Frame(size=SIZE, orientation=6)


@pytest.mark.parametrize(
    ("box_format", "box"),
    [
        ("xyxy", (20, 10, 60, 30)),
        ("xywh", (20, 10, 40, 20)),
        ("center_xywh", (40, 20, 40, 20)),
        ("rel_xyxy", (0.1, 0.1, 0.3, 0.3)),
        ("rel_xywh", (0.1, 0.1, 0.2, 0.2)),
        ("rel_center_xywh", (0.2, 0.2, 0.2, 0.2)),
    ],
)
def test_formats(box_format, box):
    boxes, counts = place(Objects(boxes=(box,), format=box_format), FRAME)

    assert box_format in FORMATS
    assert boxes.format == "rel_xyxy"
    assert boxes.boxes[0] == pytest.approx((0.1, 0.1, 0.3, 0.3), rel=1e-6)
    assert not counts


@pytest.mark.parametrize(
    ("box", "policy", "expected", "counted"),
    [
        pytest.param((20, 10, 60, 30), "clip", (0.1, 0.1, 0.3, 0.3), None, id="inside"),
        pytest.param((0, 0, 200, 100), "error", (0, 0, 1, 1), None, id="the whole image"),
        pytest.param((0, 0, 200.0001, 100), "error", (0, 0, 1, 1), None, id="rounding"),
        pytest.param((-20, 10, 60, 30), "clip", (0, 0.1, 0.3, 0.3), CLIPPED, id="clipped"),
        pytest.param((-9, -9, 999, 999), "clip", (0, 0, 1, 1), CLIPPED, id="clipped all round"),
        pytest.param((210, 10, 260, 30), "clip", None, DROPPED_OUTSIDE, id="nothing is left"),
        pytest.param((200, 10, 260, 30), "clip", None, DROPPED_OUTSIDE, id="an edge is left"),
        pytest.param((20, 10, 20, 30), "clip", None, DROPPED_NO_AREA, id="no width"),
        pytest.param((20, 10, 60, 10), "drop", None, DROPPED_NO_AREA, id="no height"),
        pytest.param((20, 10, 20 + 1e-7, 30), "clip", None, DROPPED_NO_AREA, id="none in float32"),
        pytest.param((-20, 10, 60, 30), "drop", None, DROPPED_OUTSIDE, id="dropped"),
        pytest.param((20, 10, 60, 30), "drop", (0.1, 0.1, 0.3, 0.3), None, id="inside, drop"),
    ],
)
def test_policies(box, policy, expected, counted):
    boxes, counts = place(Objects(boxes=(box,)), FRAME, policy=policy)

    if expected is None:
        assert boxes.boxes == ()
    else:
        assert boxes.boxes[0] == pytest.approx(expected, rel=1e-6)
    assert counts == ({counted: 1} if counted else {})


@pytest.mark.parametrize(
    ("box", "box_format", "policy", "reason"),
    [
        pytest.param((60, 10, 20, 30), "xyxy", "clip", "impossible box", id="inverted"),
        pytest.param((20, 30, 60, 10), "xyxy", "drop", "impossible box", id="upside down"),
        pytest.param((20, 10, -1, 20), "xywh", "clip", "impossible box", id="negative width"),
        pytest.param((0.5, 0.5, 0.1, -0.1), "rel_center_xywh", "clip", "impossible box", id="yolo"),
        pytest.param((math.nan, 0, 9, 9), "xyxy", "clip", "impossible box", id="nan"),
        pytest.param((0, 0, math.inf, 9), "xyxy", "clip", "impossible box", id="infinite"),
        pytest.param((-1, 0, 9, 9), "xyxy", "error", "box outside image", id="outside"),
        pytest.param((5, 0, 5, 9), "xyxy", "error", "box without area", id="no area"),
        pytest.param((5, 0, 5, 9), "polygon", "clip", "malformed annotation", id="format"),
    ],
)
def test_refused(box, box_format, policy, reason):
    boxes = Objects(boxes=((1, 1, 2, 2), box), format=box_format, labels=("cat", "dog"))
    if box_format.startswith("rel"):
        boxes = Objects(boxes=((0.5, 0.5, 0.2, 0.2), box), format=box_format)

    with pytest.raises(RecordError) as error:
        place(boxes, FRAME, policy=policy)

    assert error.value.reason == reason
    if reason.startswith(("impossible", "box")):
        assert "box 2" in error.value.detail
        assert str(box) in error.value.detail


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": ("cat",)},
        {"attributes": {"difficult": (1, 0, 1)}},
        {"keypoints": ((1.0, 1.0, 2.0),)},
        {"keypoints": ((1.0, 1.0), (1.0, 1.0))},
    ],
)
def test_everything_has_one_value_a_box(changes):
    with pytest.raises(RecordError, match="malformed annotation"):
        place(Objects(boxes=((1, 1, 2, 2), (1, 1, 3, 3)), **changes), FRAME)


def test_what_belongs_to_a_dropped_box_goes_with_it():
    boxes = Objects(
        boxes=((0, 0, 20, 10), (300, 0, 310, 9), (20, 10, 40, 20)),
        labels=("a", "b", "c"),
        attributes={"difficult": (0, 1, 2), "area": (10.0, 20.0, 30.0)},
        keypoints=((20.0, 50.0, 2.0, 0.0, 0.0, 0.0), (1.0,) * 6, (0.0, 0.0, 1.0, 500.0, 5.0, 1.0)),
    )

    placed, counts = place(boxes, Frame(size=SIZE, scale=(0.5, 0.5)))

    assert counts == {DROPPED_OUTSIDE: 1}
    assert placed.labels == ("a", "c")
    assert placed.attributes == {"difficult": (0, 2), "area": (2.5, 7.5)}
    assert placed.keypoints[0] == pytest.approx((0.1, 0.5, 2, 0, 0, 0))
    assert placed.keypoints[1] == pytest.approx((0, 0, 1, 2.5, 0.05, 1))


def test_keypoints_that_do_not_exist_stay_at_zero_when_the_image_is_turned():
    boxes = Objects(
        boxes=((0, 0, 20, 10),),
        keypoints=((0.0, 0.0, 0.0, 20.0, 10.0, 2.0),),
        image_size=SIZE,
    )
    placed, _ = place(boxes, TURNED)
    assert placed.keypoints[0] == pytest.approx((0, 0, 0, 0.9, 0.1, 2))


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_keypoints_must_be_finite(value):
    boxes = Objects(boxes=((0, 0, 20, 10),), keypoints=((value, 0.0, 1.0),))
    with pytest.raises(RecordError, match="impossible box: a keypoint"):
        place(boxes, FRAME)


def test_without_boxes():
    boxes = Objects(boxes=(), attributes={"area": ()}, image_size=(1, 1))
    placed, counts = place(boxes, TURNED)
    assert placed == Objects(boxes=(), format="rel_xyxy", attributes={"area": ()})
    assert not counts


@pytest.mark.parametrize(
    ("image_size", "box_format", "box", "expected"),
    [
        pytest.param(None, "xyxy", (10, 20, 30, 60), (0.1, 0.1, 0.3, 0.3), id="unstated: upright"),
        pytest.param((200, 100), "xyxy", (10, 20, 30, 60), (0.1, 0.1, 0.3, 0.3), id="upright"),
        pytest.param((100, 200), "xyxy", (20, 70, 60, 90), (0.1, 0.1, 0.3, 0.3), id="raw: turned"),
        pytest.param((100, 200), "rel_xyxy", (0.1, 0.1, 0.3, 0.3), (0.1, 0.1, 0.3, 0.3), id="rel"),
        pytest.param((7, 7), "rel_xyxy", (0.1, 0.1, 0.3, 0.3), (0.1, 0.1, 0.3, 0.3), id="any, rel"),
    ],
)
def test_the_frame_that_an_annotation_speaks_of(image_size, box_format, box, expected):
    """A 200x100 file that is displayed as 100x200."""
    image_size = image_size and ImageSize(*image_size)
    boxes = Objects(boxes=(box,), format=box_format, image_size=image_size)
    placed, _ = place(boxes, TURNED)
    assert placed.boxes[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("orientation", [1, 3, 8])
def test_a_size_that_is_neither_is_a_mismatch(orientation):
    boxes = Objects(boxes=((1, 1, 2, 2),), image_size=ImageSize(100, 100))
    with pytest.raises(RecordError, match="100x100 pixels, but the file has 200x100") as error:
        place(boxes, Frame(size=SIZE, orientation=orientation))
    assert error.value.reason == "size mismatch"


def test_an_image_without_pixels_holds_no_boxes():
    with pytest.raises(RecordError, match="malformed annotation: an image of 0x0"):
        place(Objects(boxes=((1, 1, 2, 2),)), Frame(size=ImageSize(0, 0)))


numbers = st.floats(-400, 400, allow_subnormal=False)


@hypothesis.given(
    box=st.tuples(numbers, numbers, numbers, numbers),
    size=st.builds(ImageSize, st.integers(1, 300), st.integers(1, 300)),
    orientation=st.integers(1, 8),
    raw=st.booleans(),
)
def test_what_is_kept_has_area_and_loses_nothing_in_float32(box, size, orientation, raw):
    x1, y1, x2, y2 = box
    stated = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
    hypothesis.assume(max(map(abs, stated)) > 1)
    boxes = Objects(boxes=(stated,), image_size=size if raw else None)

    placed, counts = place(boxes, Frame(size=size, orientation=orientation))

    for xmin, ymin, xmax, ymax in placed.boxes:
        assert 0 <= xmin < xmax <= 1
        assert 0 <= ymin < ymax <= 1
        row = (xmin, ymin, xmax, ymax)
        assert struct.unpack("4f", struct.pack("4f", *row)) == row
    dropped = counts[DROPPED_OUTSIDE] + counts[DROPPED_NO_AREA]
    assert len(placed.boxes) + dropped == 1
    # Normalising again changes nothing.
    assert place(placed, Frame(size=size.turned(orientation))) == (placed, {})


@st.composite
def images_with_a_box(draw: st.DrawFn) -> tuple[ImageSize, tuple[int, int, int, int]]:
    width, height = draw(st.integers(2, 40)), draw(st.integers(2, 40))
    left = draw(st.integers(0, width - 1))
    top = draw(st.integers(0, height - 1))
    right = draw(st.integers(left + 1, width))
    bottom = draw(st.integers(top + 1, height))
    return ImageSize(height, width), (left, top, right, bottom)


@pytest.mark.parametrize(
    ("orientation", "annotated"),
    [
        *((orientation, "upright") for orientation in range(1, 9)),
        # The other four keep the size, so an annotation counts as upright.
        *((orientation, "raw") for orientation in range(5, 9)),
    ],
)
@hypothesis.given(image=images_with_a_box())
def test_boxes_turn_with_the_image(image, orientation, annotated):
    """In the stored image, the box surrounds the white rectangle of a black file."""
    size, box = image
    image = Image.new("L", (size.width, size.height))
    image.paste(255, box)
    data = image_bytes(image, exif=exif_of(orientation))
    found = inspect_image(data, ImageOptions())
    stored = encode_image(data, found.image, ImageOptions())
    shown = np.asarray(Image.open(io.BytesIO(stored)))
    rows, columns = np.nonzero(shown)
    seen = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    upright_size = ImageSize(found.image.height, found.image.width)
    if annotated == "upright":
        boxes = Objects(boxes=(tuple(map(float, seen)),), image_size=upright_size)
    else:
        hypothesis.assume(size != upright_size)
        boxes = Objects(boxes=(tuple(map(float, box)),), image_size=size)

    placed, counts = place(
        boxes,
        Frame(size=found.source_size, orientation=found.orientation),
        policy="error",
        stated=True,
    )

    sides = (found.image.width, found.image.height) * 2
    in_pixels = [side * fraction for side, fraction in zip(sides, placed.boxes[0], strict=True)]
    assert in_pixels == pytest.approx(seen, abs=1e-4)
    assert not counts


@pytest.mark.parametrize(
    ("box_format", "stated", "boxes", "reason"),
    [
        pytest.param("xyxy", False, [(0.1, 0.2, 0.5, 0.6)], "boxes in fractions", id="xyxy"),
        pytest.param("xywh", False, [(0.5, 0.5, 0.5, 0.5)], "boxes in fractions", id="xywh"),
        pytest.param("center_xywh", False, [(0.5, 0.5, 1, 1)], "boxes in fractions", id="centre"),
        pytest.param("xyxy", False, [(-0.1, 0, 0.5, 1)], "boxes in fractions", id="a bit outside"),
        ("xyxy", False, [(0, 0, 0, 0), (0, 0, 1, 1)], "boxes in fractions"),  # one pixel?
        pytest.param("xyxy", True, [(0, 0, 1, 1)], None, id="one pixel, as stated"),
        pytest.param("xyxy", True, [(0, 0, 0.9, 1)], "boxes in fractions", id="stated, and wrong"),
        pytest.param("xyxy", False, [(0, 0, 1, 1), (0, 0, 2, 2)], None, id="one of two"),
        pytest.param("xyxy", False, [(0, 0, 0, 0)], None, id="a place holder"),
        pytest.param("rel_xyxy", True, [(0.1, 0.1, 0.2, 0.2), (10, 10, 20, 20)], "boxes in pixels"),
        pytest.param("rel_xywh", False, [(10, 10, 0.1, 0.1)], "boxes in pixels", id="rel_xywh"),
        pytest.param("rel_xyxy", False, [(-0.5, 0, 1.5, 2)], None, id="fractions outside"),
    ],
)
def test_fractions_are_not_taken_for_pixels_nor_pixels_for_fractions(
    box_format, stated, boxes, reason
):
    given = Objects(boxes=tuple(boxes), format=box_format)
    if reason is None:
        place(given, FRAME, stated=stated)
        return

    absolute = box_format.removeprefix("rel_")
    remedy = f"rel_{absolute}" if reason == "boxes in fractions" else absolute
    with pytest.raises(RecordError, match=f" to {remedy}") as error:
        place(given, FRAME, stated=stated)
    assert error.value.reason == reason
