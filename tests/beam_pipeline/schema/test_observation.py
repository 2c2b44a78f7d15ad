"""What the values of records are is counted, and merges."""

import numpy as np
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, FileRef, Record
from beam_pipeline.schema.observation import Observed, dtype_of, observe


def array(*values, dtype="int64"):
    made = np.array(values, dtype)
    return Array(
        dtype=dtype, shape=made.shape, data=made.tobytes(),
        minimum=made.min().item(), maximum=made.max().item(),
    )  # fmt: skip


def sound(num_samples, sample_rate=8000):
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
                "audio": sound(100 + i, sample_rate=8000 + i),
                "words": ("a", "b")[: i % 3],
            },
        )
        for i in range(6)
    ]
    whole, merged = observe(records), observe(records[3:])
    for name, part in observe(records[:3]).items():
        merged.setdefault(name, Observed()).merge(part)
    assert merged == whole
    assert whole["tokens"].lengths == (1, 6)
    assert (whole["tokens"].minimum, whole["tokens"].maximum) == (0, 5)
    assert whole["audio"].sizes == {0: {100, 101}, 1: {1}}


def test_a_value_of_no_kind_is_refused():
    with pytest.raises(RecordError, match="is a complex"):
        dtype_of(1j)
