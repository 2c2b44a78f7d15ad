"""What the values of records are is counted, and merges."""

import numpy as np
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, FileRef, Record
from beam_pipeline.schema.statistics import FeatureStatistics, dtype_of, observe


def array(*values, dtype="int64"):
    made = np.array(values, dtype)
    return Array(
        dtype=dtype, shape=made.shape, data=made.tobytes(),
        minimum=made.min().item(), maximum=made.max().item(),
    )  # fmt: skip


def audio(num_samples, sample_rate=8000):
    file = FileRef(path="a.wav")
    return Audio(
        file=file, format="wav", sample_rate=sample_rate, num_samples=num_samples, channels=1
    )


def test_observations_merge_like_one():
    records = [
        Record(
            key=str(i),
            features={
                "n": i if i % 2 else i + 0.5,
                "label": ClassLabel(str(i)),
                "labels": ClassLabels(("a",) * i),
                "tokens": array(*range(i + 1)),
                "audio": audio(100 + i, sample_rate=8000 + i),
                "words": ("a", "b")[: i % 3],
            },
        )
        for i in range(6)
    ]
    whole, merged = observe(records), observe(records[3:])
    for name, part in observe(records[:3]).items():
        merged.setdefault(name, FeatureStatistics()).merge(part)
    assert merged == whole
    assert whole["tokens"].lengths == (1, 6)
    assert (whole["tokens"].minimum, whole["tokens"].maximum) == (0, 5)
    assert whole["audio"].sizes == {0: {100, 101}, 1: {1}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1.5, 99999999.25, 20000001.25, 1e20], 20000001.25, id="the smallest"),
        pytest.param([20000001.25, -20000001.25], -20000001.25, id="of one size the negative"),
        pytest.param([20000001, 20000001.0], 20000001.0, id="an int and a float"),
        pytest.param([16777216.0, float("nan"), float("inf")], None, id="none is changed"),
        pytest.param(
            [array(1.0, 20000001.25, 30000001.25, dtype="float64")], 30000001.25, id="an array's"
        ),
        pytest.param([array(20000000.0, dtype="float32")], None, id="an array of float32"),
    ],
)
def test_numbers_that_float32_rounds(values, expected):
    for ordered in (values, values[::-1]):
        parts = [observe([Record(key="a", features={"x": each})]) for each in ordered]
        merged = FeatureStatistics()
        for part in parts:
            merged.merge(part["x"])
        whole = observe(Record(key="a", features={"x": each}) for each in ordered)["x"]

        assert merged.rounded == whole.rounded == expected
        assert type(merged.rounded) is type(whole.rounded) is type(expected)


def test_a_value_of_no_kind_is_refused():
    with pytest.raises(RecordError, match="is a complex"):
        dtype_of(1j)
