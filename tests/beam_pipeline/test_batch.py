"""Records as columns, and back."""

import pyarrow as pa
import pytest
from inspecting import inspect, packed

from beam_pipeline.assign import columns
from beam_pipeline.assign.packing import Packer
from beam_pipeline.batch import (
    Examples,
    batches_of,
    rows_of,
    value_columns,
    values_by_feature,
)
from beam_pipeline.config import BuildConfig
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import (
    Audio,
    ClassLabel,
    ClassLabels,
    Deferred,
    Expectation,
    FileRef,
    Image,
    Map,
    Objects,
    RawFile,
    Record,
)
from beam_pipeline.running.pickling import pack, unpack

FEATURES = {
    "id": [1, -(2**63)],
    "fare": [0.5, float("inf")],
    "city": ["Oslo", ""],
    "label": [ClassLabel("a"), ClassLabel("é")],
}
EXPECTED = Expectation("int64", "", "a")
KEYS = ["t.csv:2", "t.csv:3"]
RECORDS = [
    Record(key=key, source=key, features=dict(zip(FEATURES, values, strict=True)))
    for key, values in zip(KEYS, zip(*FEATURES.values(), strict=True), strict=True)
]


def test_rows_are_the_records_that_they_were_made_of():
    rows = rows_of(KEYS, KEYS, [None, None], FEATURES)
    assert rows is not None
    assert list(rows.records()) == RECORDS


FILE = FileRef(path="/in/é.png", offset=3, length=9)
OTHERS = {"group": "g", "source_id": "7", "notes": {"not kept: pose": 1}, "example": FILE}


@pytest.mark.parametrize(
    ("features", "is_one"),
    [
        pytest.param([{"x": 1}, {"x": 2}], True, id="numbers"),
        pytest.param(
            [{"x": Image(file=FILE)}, {"x": Image(file=FileRef(path="/"))}], True, id="images"
        ),
        pytest.param(
            [{"x": Objects(boxes=((0, 0, 1, 1),))}, {"x": Objects(boxes=())}], True, id="objects"
        ),
        *(
            pytest.param([{"x": value}, {"x": other}], True, id=f"{type(value).__name__}s")
            for value, other in (
                (b"\0", b""),
                (("a", "é"), ()),
                (("a", b"b"), ("a",)),
                (ClassLabels(("a", "b")), ClassLabels(())),
                (
                    Map(file=FILE, colors=b"\0\1\2", numbers=(1, 7), conversions=("resized",)),
                    Map(file=FileRef(path="/")),
                ),
                (Audio(file=FILE, format="wav", sample_rate=8000), Audio(file=FILE)),
                (RawFile(file=FILE, num_bytes=9), RawFile(file=FILE)),
                (Deferred(file=FILE, read=bytes.decode), Deferred(file=FILE, read=len)),
            )
        ),
        pytest.param([{"x": 1}, {"y": 1}], False, id="of two names"),
        pytest.param([{"x": 1}, {"x": True}], False, id="of two classes"),
        pytest.param([{"x": 1}, {"x": 2**70}], True, id="beyond 64 bits"),
        pytest.param([{"x": None}, {"x": None}], True, id="no values"),
        pytest.param([{"x": "a"}, {"x": "\udcff"}], True, id="no UTF-8"),
        pytest.param([{"x": float("nan")}, {"x": -0.0}], True, id="unusual numbers"),
        pytest.param([{}, {}], True, id="no features"),
    ],
)
@pytest.mark.parametrize("fields", [{}, OTHERS, {"split": "train", "expected": {"x": EXPECTED}}])
def test_a_batch_gives_its_records_again(features, is_one, fields):
    records = [Record(key=str(n), features=each, **fields) for n, each in enumerate(features)]
    batches = [*batches_of(records)]
    assert (len(batches) == 1) == is_one
    again = unpack(pack(batches))
    assert repr([record for batch in again for record in batch.records()]) == repr(records)


@pytest.mark.parametrize(
    ("key", "printed", "reason"),
    [
        pytest.param("\udcff", "\\udcff", "not UTF-8", id="no UTF-8"),
        pytest.param(b"x", "b'x'", "unsupported value", id="bytes"),
    ],
)
def test_a_record_whose_key_no_column_holds_is_rejected_alone(key, printed, reason):
    records = [Record(key=each, features={"x": 1}) for each in ("a", key, "b")]
    one, bad, other = batches_of(records)
    assert [*one.records(), *other.records()] == [records[0], records[2]]
    assert (bad.source, bad.reason) == (printed, reason)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([1, 2.0], id="of two types"),
        pytest.param([1, None], id="a row without it"),
        pytest.param([(1,), (2,)], id="lists"),
        pytest.param([1, 2**63], id="beyond 64 bits"),
        pytest.param(["a", "\udcff"], id="no UTF-8"),
    ],
)
def test_other_values_are_not_rows(values):
    assert rows_of(KEYS, KEYS, [None, None], {"x": values}) is None


def observed(packed):
    """Return the statistics of each feature's values."""
    return {
        name: (
            feature.types,
            feature.example,
            feature.minimum,
            feature.maximum,
            feature.strings,
            feature.classes,
        )
        for name, feature in packed.statistics.take().features().items()
    }


def test_rows_are_inspected_and_routed_as_their_records_are():
    rows = rows_of(KEYS, KEYS, [None, None], FEATURES)
    packer = Packer(BuildConfig(name="t", split={"train": 0.5, "test": 0.5}))
    one, other = (packed(packer, inspect(elements, Rules())) for elements in ([rows], RECORDS))
    routes = [name for name in columns.SCHEMA.names if name not in ("record", "digest")]
    tables = [columns.from_bytes([each.records]) for each in (one, other)]
    assert tables[0].select(routes).equals(tables[1].select(routes))
    one_again, other_again = (Examples.of(each) for each in tables)
    assert one_again == other_again
    assert observed(one) == observed(other)


def test_records_that_lack_a_value_have_none_in_its_column():
    values = [Image(file=FILE), Deferred(file=FILE, read=len), ClassLabels(("a",)), (), b"", "a", 1]
    for value in values:
        columns = value_columns({"x": [None, value, None]})
        assert values_by_feature(pa.table(columns)) == {"x": [None, value, None]}
