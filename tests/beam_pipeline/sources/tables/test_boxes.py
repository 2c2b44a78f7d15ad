"""Masks of run lengths, as Kaggle writes them."""

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.masks import pixels_of
from beam_pipeline.sources.tables.row_objects import mask_of_starts
from tfrecord_dataset.image_size import ImageSize

SIZE = ImageSize(height=3, width=4)


def as_kaggle_writes(pixels):
    """Encode runs of 1 as Kaggle's notebooks do: starts and lengths, column by column."""
    column = np.concatenate([[0], pixels.T.ravel(), [0]])
    changes = np.flatnonzero(column[1:] != column[:-1]) + 1
    changes[1::2] -= changes[::2]
    return " ".join(map(str, changes))


@hypothesis.given(arrays.arrays(np.uint8, (3, 4), elements=st.integers(0, 1)))
def test_run_lengths_are_the_pixels(pixels):
    hypothesis.assume(pixels.any())
    assert np.array_equal(pixels_of(mask_of_starts(as_kaggle_writes(pixels), SIZE)), pixels)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1 2 2 2", id="overlapping"),
        pytest.param("12 2", id="out of the image"),
        pytest.param("0 1", id="counted from 0"),
        pytest.param("1", id="no length"),
        pytest.param("1 0", id="no pixel"),
        pytest.param("-1", id="none, as some write it"),
        pytest.param("1 2.5", id="no whole numbers"),
        pytest.param(" ", id="nothing"),
    ],
)
def test_run_lengths_that_are_none(text):
    with pytest.raises(RecordError, match="run lengths"):
        mask_of_starts(text, SIZE)
