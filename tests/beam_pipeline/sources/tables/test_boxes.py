"""Boxes of an image in several rows, and masks of run lengths as Kaggle writes them."""

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds import boxes
from beam_pipeline.kinds.masks import pixels_of
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.tables import read_tables as reading
from beam_pipeline.sources.tables.csv import ReadCsv
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


def test_rows_of_an_image_travel_together(write):
    """One value for each image in a batch, in the order of its lines."""
    rows = "".join(f"{n % 3}.jpg,{n},0,9,9,a\n" for n in range(30))
    job = ReadCsv(write("a.csv", f"image,xmin,ymin,xmax,ymax,class\n{rows}")).job()
    [table] = job.tables
    all_rows = reading.overview(reading.survey(table, job.roles), job.roles)
    entries = [each for each in reading.read_rows(table, all_rows) if isinstance(each, Entry)]
    assert [(each.key, each.order, each.num_values) for each in entries] == [
        (f"{n}.jpg", ("a.csv", n + 2), 10) for n in range(3)
    ]


def test_too_many_rows_of_an_image(write, read_tables, by_name, monkeypatch):
    for module in (boxes, reading):
        monkeypatch.setattr(module, "MAX_BOXES", 3)
    rows = "".join(f"{name}.jpg,1,1,9,9,a\n" for name in "abbabbba")
    path = write("a.csv", f"image,xmin,ymin,xmax,ymax,class\n{rows}")
    records, rejects = by_name(read_tables(ReadCsv(path)))
    assert [*records] == ["a.jpg"]
    assert "more than 3 boxes of one image" in rejects["a.csv:3"].detail
