"""Numbers in the type of their feature."""

import itertools

import numpy as np
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.numbers import cast
from tfrecord_dataset.format.feature import Feature

_DTYPES = ("uint8", "int64", "float32", ">i4", ">f8")


@pytest.mark.parametrize(("given", "wanted"), [*itertools.product(_DTYPES, _DTYPES[:3])])
def test_cast(given, wanted):
    feature = Feature(name="x", kind="tensor", dtype=wanted, key="x")
    made = cast(feature, np.array([1, 2, 100], given))
    assert (made.dtype, made.tolist()) == (np.dtype(wanted).newbyteorder("<"), [1, 2, 100])


def test_numbers_beyond_the_range_of_a_type():
    feature = Feature(name="x", kind="tensor", dtype="float32", key="x")
    assert np.isinf(cast(feature, np.array([np.inf]))).all()  # as it was given
    with pytest.raises(RecordError, match="feature 'x' holds numbers beyond the range of float32"):
        cast(feature, np.array([1e300]))
