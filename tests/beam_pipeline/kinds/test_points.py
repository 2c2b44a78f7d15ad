"""Names of keypoints that differ between records."""

import dataclasses

import pytest
from inspecting import schema_of

from beam_pipeline import kinds
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.kinds.columns import MOST_NAMES, MOST_POINTS, aligned, check_points
from beam_pipeline.records import Objects, Record
from tfrecord_dataset.format.feature import Feature


def record(*names: str, flips: tuple[int, ...] = (), number: int = 0) -> Record:
    points = (0.5, 0.5, 2.0) * (len(names) or number)
    boxes = {"boxes": ((0.0, 0.0, 1.0, 1.0),), "format": "rel_xyxy", "keypoints": (points,)}
    objects = Objects(**boxes, keypoint_names=names, keypoint_flips=flips)
    return Record(key=f"{len(names)}{names}{flips}"[:99], features={"boxes": objects})


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
    few, other = (kinds.observe([record(name)])["boxes"] for name in ("a", "c"))
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
