"""Columns of objects: polygons, masks, rotated boxes and keypoints."""

import contextlib
import dataclasses
import io
import json

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from file_bytes import exif_of, image_bytes
from inspecting import Inspected, observe, place, schema_of
from PIL import Image as Pixels
from PIL import ImageOps
from pycocotools import mask as coco_masks

from beam_pipeline import kinds
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.kind import Stored
from beam_pipeline.kinds.masks import (
    mask_of,
    mask_of_polygons,
    mask_of_runs,
    pixels_of,
    png_of,
    runs_of,
    turned,
)
from beam_pipeline.kinds.object_columns import (
    MOST_NAMES,
    MOST_POINTS,
    Polygons,
    Rotated,
    aligned,
    check_points,
)
from beam_pipeline.outlines import Boxes
from beam_pipeline.records import Mask, Objects, Record
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import ROTATED_PARTS
from tfrecord_dataset.image_size import ImageSize

ROTATED_BOXES = Feature(name="boxes", kind="boxes", dtype="float32", key="b", geometry=("rotated",))
SIZES = st.builds(ImageSize, st.integers(4, 60), st.integers(4, 60))


def stored(mask):
    """Return the pixels that a reader gets."""
    with Pixels.open(io.BytesIO(png_of(mask))) as opened:
        assert opened.mode == "L"
        return np.asarray(opened)


@st.composite
def pixels(draw):
    """Images of 0 and 1: noise, a few rectangles, or empty."""
    height, width = draw(SIZES)
    made = np.zeros((height, width), np.uint8)
    for _ in range(draw(st.integers(0, 3))):
        x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
        made[y : y + draw(st.integers(1, 20)), x : x + draw(st.integers(1, 20))] ^= 1
    return made


NUMBER = st.integers(-2000, 4000).map(lambda hundredths: hundredths / 100)
RING = st.integers(3, 9).flatmap(lambda corners: st.tuples(*[NUMBER, NUMBER] * corners))
OUTLINES = st.lists(RING, min_size=1, max_size=3)  # of one object, in pixels


def exif(image, orientation):
    """Turn an image upright with Pillow."""
    file = io.BytesIO(image_bytes(image, exif=exif_of(orientation)))
    return np.asarray(ImageOps.exif_transpose(Pixels.open(file)))


@hypothesis.given(pixels())
def test_runs_are_those_of_pycocotools_and_pixels_come_back(made):
    theirs = coco_masks.encode(np.asfortranarray(made))
    mask = Mask(ImageSize(*made.shape), theirs["counts"])
    assert mask_of(made) == mask
    np.testing.assert_array_equal(pixels_of(mask), made)
    np.testing.assert_array_equal(stored(mask), made)
    assert mask_of_runs(mask.size, runs_of(mask).tolist()) == mask


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # their decode
@hypothesis.given(OUTLINES, SIZES)
def test_polygons_fill_what_pycocotools_fills(rings, size):
    objects = Objects(boxes=((0, 0, 3, 3),), polygons=(rings,), masks=(None,))
    placed, _ = place(objects, Frame(size=size))
    theirs = coco_masks.frPyObjects([*map(list, rings)], *size)
    np.testing.assert_array_equal(
        stored(mask_of_polygons(placed.polygons[0], size)),
        coco_masks.decode(coco_masks.merge(theirs)),
    )


@pytest.mark.parametrize("orientation", range(1, 9))
@hypothesis.given(made=pixels())
@hypothesis.example(made=np.eye(4, 7, dtype=np.uint8))
def test_masks_turn_as_pillow_turns_their_image(made, orientation):
    frame = Frame(size=ImageSize(*made.shape), orientation=orientation)
    found = turned(mask_of(made), frame)
    assert found.size == frame.upright_size == frame.stored_size
    np.testing.assert_array_equal(pixels_of(found), exif(made, orientation))


@hypothesis.given(pixels(), SIZES)
def test_masks_scale_to_the_nearest_pixels(made, size):
    height, width = made.shape
    scale = (size.width / width, size.height / height)
    found = pixels_of(turned(mask_of(made), Frame(size=ImageSize(*made.shape), scale=scale)))
    assert found.shape == size
    theirs = Pixels.fromarray(made).resize((size.width, size.height), Pixels.Resampling.NEAREST)
    np.testing.assert_array_equal(found, np.asarray(theirs))


@hypothesis.given(st.data())
def test_the_box_of_the_mask_is_the_box(data):
    """Holds for images turned in any way, clipped if objects extend beyond the image."""
    size = data.draw(st.builds(ImageSize, st.integers(20, 60), st.integers(20, 60)))
    orientation = data.draw(st.integers(1, 8))
    left, right, top, bottom = (
        float(data.draw(st.integers(*limits)))
        for side in (size.width, size.height)
        for limits in ((-10, side // 2), (side // 2 + 1, side + 10))
    )
    made = np.zeros(size, np.uint8)
    made[max(int(top), 0) : int(bottom), max(int(left), 0) : int(right)] = 1
    objects = Objects(
        boxes=((left, top, right, bottom),) * 2,
        polygons=(((left, top, right, top, right, bottom, left, bottom),), ()),
        masks=(None, mask_of(made)),
        image_size=size,
    )
    placed, _ = place(objects, Frame(size=size, orientation=orientation))
    assert placed.image_size == size.turned(orientation)
    scale = (placed.image_size.width, placed.image_size.height) * 2
    of_polygon = mask_of_polygons(placed.polygons[0], placed.image_size)
    for mask, box in zip((of_polygon, placed.masks[1]), placed.boxes, strict=True):
        rows, columns = np.nonzero(stored(mask))
        around = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        assert around == pytest.approx(np.array(box) * scale, abs=1e-4)


@hypothesis.given(st.data())
def test_a_rotated_box_is_that_of_the_turned_image(data):
    """Its five numbers restore its corners, for any orientation and size of the image."""
    size = data.draw(SIZES)
    orientation, degrees = data.draw(st.integers(1, 8)), data.draw(st.integers(-360, 360))
    scale = data.draw(st.sampled_from([1.0, 3.0]))
    half = np.array([data.draw(st.integers(3, 30)), data.draw(st.integers(1, 2))])
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[cosine, sine], [-sine, cosine]])
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    ring = (signs * half @ turn + [size.width / 2, size.height / 3]).ravel()
    frame = Frame(size=size, orientation=orientation, scale=(scale, scale))
    objects = Objects(
        boxes=((0.0, 0.0, 2.0, 2.0),), rotated=(tuple(ring.tolist()),), image_size=size
    )
    placed, _ = place(objects, frame)
    stored = Rotated().encode(ROTATED_BOXES, placed, Stored("", "", {}, {}))
    cx, cy, w, h, angle = (stored[part][0] for part in ROTATED_PARTS)

    assert -np.pi / 2 <= angle < np.pi / 2
    image = np.array(placed.image_size[::-1])
    long, short = np.array([w, h]) * image / 2
    assert (long, short) == pytest.approx(half * scale)
    across = np.array([np.cos(angle), np.sin(angle)])
    down = np.array([-across[1], across[0]])
    found = [np.array([cx, cy]) * image + a * long * across + b * short * down for a, b in signs]
    spoken = frame.of_annotation(size, relative=False)
    expected = [spoken.point(x, y) * image for x, y in ring.reshape(4, 2)]
    distances = np.linalg.norm(np.array(found)[:, None] - np.array(expected), axis=-1)
    assert distances.min(axis=0) == pytest.approx(np.zeros(4), abs=1e-3)


@pytest.mark.parametrize("counts", [b"", b"abc", b"\xff", b"0", b"P1\x00", b"o" * 9, b"PPPPPPPP0"])
def test_run_lengths_that_are_not_of_the_image(counts):
    with pytest.raises(RecordError, match="run lengths"):
        runs_of(Mask(ImageSize(4, 5), counts))


@pytest.mark.parametrize("runs", [[], [19], [21], [-1, 21], [2**70]])
def test_plain_run_lengths_that_are_not_of_the_image(runs):
    with pytest.raises(RecordError, match="run lengths"):
        mask_of_runs(ImageSize(4, 5), runs)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"labels": ("cat", "dog")}, "malformed annotation: 1 boxes but 2 labels"),
        ({"attributes": {"difficult": (1, 0)}}, "1 boxes but 2 values of 'difficult'"),
        ({"keypoints": ((), ())}, "1 boxes but 2 sets of keypoints"),
        ({"keypoints": ((1.0, 1.0),)}, "malformed annotation: keypoints that are not triples"),
        ({"keypoints": ((float("nan"), 0.0, 1.0),)}, "impossible box: a keypoint"),
        ({"keypoints": ((1e300, 0.0, 1.0),)}, "impossible box: a keypoint"),
        ({"polygons": ((), ())}, "1 boxes but 2 polygons"),
        ({"rotated": ((), ())}, "1 boxes but 2 rotated ones"),
        ({"rotated": ((1.0, 2.0),)}, "a rotated box of 2 numbers"),
        ({"masks": (None, None)}, "1 boxes but 2 masks"),
        ({"polygons": (((0.0, 0.0, 1e9, 0.0, 5.0, 5.0),),)}, "ten images away"),
        ({"polygons": (((0.0, 0.0, float("nan"), 0.0, 5.0, 5.0),),)}, "ten images away"),
        ({"polygons": ((("a", 0.0, 1.0, 0.0, 5.0, 5.0),),)}, "not of numbers"),
        ({"masks": (mask_of(np.ones((3, 3), np.uint8)),)}, "size mismatch|image of 3x3"),
    ],
)
def test_what_is_refused(columns, message):
    objects = Objects(boxes=((1, 1, 5, 5),), **columns)
    with pytest.raises(RecordError, match=message):
        place(objects, Frame(size=ImageSize(10, 10)))


@pytest.mark.parametrize(("number", "is_refused"), [(10, False), (11, True)])
def test_more_masks_than_can_be_stored_are_refused(number, is_refused):
    objects = Objects(boxes=((1, 1, 5, 5),) * number, masks=(None,) * number)
    refused = pytest.raises(RecordError, match=f"{number} masks of 40000x40000 pixels, too many")
    with refused if is_refused else contextlib.nullcontext():
        place(objects, Frame(size=ImageSize(40_000, 40_000)))


@pytest.mark.parametrize(("numbers", "is_refused"), [(4, True), (6, False), (7, True), (8, False)])
def test_polygons_have_three_corners_or_more(numbers, is_refused):
    rings = ((tuple(map(float, range(numbers))),),)
    if is_refused:
        with pytest.raises(RecordError, match=f"a polygon of {numbers} numbers"):
            Polygons().check("boxes", rings)
    else:
        assert tuple(Polygons().check("boxes", rings)) == rings


@hypothesis.given(
    st.lists(
        st.one_of(st.floats(-10, 10), st.sampled_from([0.0, 1.0, 1e-6, 9.9e-5, 1e-4, -2.5e-6])),
        min_size=6,
        max_size=6,
    )
)
def test_polygons_are_texts_as_python_writes_them(ring):
    feature = dataclasses.replace(ROTATED_BOXES, geometry=("polygon",))
    none, one = (
        Objects(boxes=((0, 0, 1, 1),)),
        Objects(boxes=((0, 0, 1, 1),) * 2, polygons=((), (ring, ring))),
    )
    found = Polygons().encode_column(feature, [none, one], [Stored("", "", {}, {})] * 2)
    rounded = [round(each, 6) + 0.0 for each in np.round(ring, 6).tolist()]
    text = json.dumps([rounded, rounded], separators=(",", ":")).encode()
    assert found == {"polygon": [[b"[]"], [b"[]", text]]}


def record(*names: str, flips: tuple[int, ...] = (), number: int = 0) -> Record:
    points = (0.5, 0.5, 2.0) * (len(names) or number)
    boxes = {"boxes": ((0.0, 0.0, 1.0, 1.0),), "format": "rel_xyxy", "keypoints": (points,)}
    objects = Objects(**boxes, keypoint_names=names, keypoint_flips=flips)
    return Inspected(key=f"{len(names)}{names}{flips}"[:99], features={"boxes": objects})


def feature_of(*records: Record) -> Feature:
    [feature] = schema_of(*records)
    return feature


@pytest.mark.parametrize(
    ("records", "names", "flips"),
    [
        pytest.param([record("z", "a", flips=(1, 0))] * 2, ("z", "a"), (1, 0), id="as declared"),
        pytest.param([record("z", "a"), record(number=2)], ("z", "a"), (), id="some have none"),
        pytest.param(
            [record("tip 10", "left"), record("right", "tip 9")],
            ("left", "right", "tip 9", "tip 10"),
            (1, 0, 2, 3),
            id="all, sorted",
        ),
    ],
)
def test_a_feature_has_the_names_of_all_records(records, names, flips):
    for each in (records, records[::-1]):
        feature = feature_of(*each)
        assert (feature.keypoint_names, feature.keypoint_flips) == (names, flips)
        assert feature.keypoints == len(names)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        pytest.param([record("a"), record("b"), record(number=1)], "other names", id="none"),
        pytest.param(
            [record("a", "b", flips=(0, 1)), record("a", "b", flips=(1, 0))],
            "other pairs of left and right",
            id="flips",
        ),
        pytest.param(
            [record(*map(str, range(each, each + 600))) for each in (0, 600)],
            "1,200 names of keypoints, such as 0, 1, 2",
            id="too many",
        ),
    ],
)
def test_names_that_cannot_be_put_together_are_refused(records, message):
    with pytest.raises(DataError, match=message):
        feature_of(*records)


def test_declared_names_stay_and_must_be_all():
    declared = dataclasses.replace(feature_of(record("b", "a")), keypoints=0)
    few, other = (observe([record(name)])["boxes"] for name in ("a", "c"))
    completed = kinds.named(declared).complete(declared, few, ())
    assert (completed.keypoint_names, completed.keypoints) == (("b", "a"), 2)
    with pytest.raises(DataError, match="undeclared keypoints: c; declared are b, a"):
        kinds.named(declared).complete(declared, other, ())


@pytest.mark.parametrize(
    ("names", "row"),
    [
        pytest.param(("a", "a"), (1.0,) * 6, id="one name twice"),
        pytest.param(("a", "b"), (1.0,) * 3, id="fewer points than names"),
    ],
)
def test_points_whose_place_is_not_known_are_refused(names, row):
    with pytest.raises(RecordError, match="one point of each name"):
        aligned((row,), names, ("a", "b", "c"))


def test_a_point_that_a_row_lacks_is_not_labelled():
    rows = ((1.0, 2.0, 2.0), ())
    assert aligned(rows, ("b",), ("a", "b")) == ((0.0, 0.0, 0.0, 1.0, 2.0, 2.0), ())


def test_more_points_than_any_image_has():
    check_points(1, ["p"] * MOST_NAMES)
    for number, names in ((1, MOST_NAMES + 1), (MOST_POINTS, 2)):
        with pytest.raises(RecordError):
            check_points(number, ["p"] * names)


def test_rotated_boxes_are_turned_into_tuples_once(monkeypatch):
    """Once for each of them, 4,000 boxes took 3 s."""
    number, listings = 4000, []
    each = Boxes.__iter__
    monkeypatch.setattr(Boxes, "__iter__", lambda boxes: listings.append(1) or each(boxes))
    rings = (*[(0.1, 0.1, 0.4, 0.1, 0.4, 0.3, 0.1, 0.3)] * (number - 1), ())
    objects = Objects(
        boxes=Boxes.of([(0.1, 0.1, 0.4, 0.3)] * number), rotated=rings, image_size=ImageSize(10, 10)
    )
    stored = Rotated().encode(ROTATED_BOXES, objects, Stored("", "", {}, {}))
    assert len(listings) <= 1
    assert {len(stored[part]) for part in ROTATED_PARTS} == {number}
    assert stored["rotated/w"][0] == stored["rotated/w"][-1] == pytest.approx(0.3)
