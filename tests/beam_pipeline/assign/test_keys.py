"""A key is in one split."""

import apache_beam as beam
import pyarrow as pa
import pytest

import beam_pipeline
from beam_pipeline.assign.keys import check_keys
from beam_pipeline.errors import DataError
from beam_pipeline.records import ClassLabel, Record


def rows(*keyed):
    return pa.Table.from_pylist(
        [{"key": key, "split": split, "position": position} for key, split, position in keyed]
    )


@pytest.mark.parametrize(
    "keyed",
    [
        pytest.param([("a", "train", 1), ("b", "test", 2)], id="two keys"),
        pytest.param([("a", "train", 1), ("b", "test", 1)], id="two keys of one position"),
        pytest.param([("a", "train", 1), ("a", "train", 1)], id="one split: found when written"),
    ],
)
def test_what_is_no_key_in_two_splits(keyed):
    check_keys(rows(*keyed))


def test_a_key_in_two_splits():
    with pytest.raises(DataError, match=r"key 'b' is in the splits test and train; a source must"):
        check_keys(rows(("c", "x", 7), ("b", "train", 7), ("a", "train", 1), ("b", "test", 7)))


def test_a_source_that_gives_a_key_twice_fails_the_build(tmp_path):
    records = [
        Record(key="same", features={"x": number, "label": ClassLabel("a")}, split=split)
        for number, split in enumerate(("train", "test"))
    ]
    config = beam_pipeline.BuildConfig(output=str(tmp_path), name="twice", threads=1)

    with pytest.raises(DataError, match="key 'same' is in the splits test and train"):
        beam_pipeline.build(config, source=beam.Create(records))
    assert not [*tmp_path.glob("twice/1.0.0/*")]
