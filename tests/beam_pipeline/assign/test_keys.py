"""A key is of one record."""

import apache_beam as beam
import pyarrow as pa
import pytest

import beam_pipeline
from beam_pipeline.assign.keys import equal_keys
from beam_pipeline.errors import DataError
from beam_pipeline.records import ClassLabel, Record


def rows(*keyed):
    return pa.Table.from_pylist(
        [{"key": key, "position": position, "source": source} for key, position, source in keyed]
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
        pytest.param([("a", 1, "x")] * 3, [("a", "x", "x")] * 2, id="three times"),
    ],
)
def test_equal_keys(keyed, equal):
    assert list(equal_keys(rows(*keyed))) == equal


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
