"""Keys are unique."""

import apache_beam as beam
import pyarrow as pa
import pytest

import beam_pipeline
from beam_pipeline.assign import columns
from beam_pipeline.assign.stage import equal_keys
from beam_pipeline.errors import DataError
from beam_pipeline.records import ClassLabel, Record
from beam_pipeline.running.spill import Repeatable


def rows(*keyed):
    schema = pa.schema([columns.SCHEMA.field(name) for name in ("position", "key", "source")])
    return pa.Table.from_pylist(
        [{"key": key, "position": position, "source": source} for key, position, source in keyed],
        schema=schema,
    )


@pytest.mark.parametrize(
    ("keyed", "equal"),
    [
        pytest.param([("a", 1, ""), ("b", 2, "")], [], id="two keys"),
        pytest.param([("a", 1, ""), ("b", 1, "")], [], id="two keys of one position"),
        pytest.param(
            [("c", 7, ""), ("b", 7, "y"), ("a", 1, ""), ("b", 7, "x")],
            [("b", "x", "y")],
            id="one key, between others",
        ),
        pytest.param(
            [("a", 1, source) for source in "zxyw"], [("a", "w", "x")], id="four times, two named"
        ),
        pytest.param([("a", 1, "x")], [], id="one key"),
        pytest.param([], [], id="none"),
    ],
)
@pytest.mark.parametrize("at_once", [1, 100])
def test_equal_keys(keyed, equal, at_once):
    parts = [rows(*keyed[start : start + at_once]) for start in range(0, len(keyed), at_once)]
    assert list(equal_keys(parts)) == equal


def test_one_key_any_number_of_times_takes_little():
    held = []

    def parts():
        for number in range(200):
            held.append(pa.total_allocated_bytes())
            yield rows(*(("same", 7, f"{number}:{row}") for row in range(1000)))

    assert list(equal_keys(Repeatable(parts))) == [("same", "0:0", "0:1")]
    assert max(held) - held[0] < 1 << 20


@pytest.mark.parametrize("splits", [("train", "test"), ("train", "train")])
def test_a_source_that_gives_a_key_twice_fails_before_anything_is_written(splits, tmp_path):
    records = [
        Record(
            key="same", features={"x": n, "label": ClassLabel("a")}, split=split, source=f"row {n}"
        )
        for n, split in enumerate(splits)
    ]
    config = beam_pipeline.BuildConfig(output=str(tmp_path), name="twice", threads=1)

    with pytest.raises(DataError, match="key 'same' belongs to two records, row 0 and row 1; a "):
        beam_pipeline.build(config, source=beam.Create(records))
    assert not [*tmp_path.rglob("*.tfrecord*")]
