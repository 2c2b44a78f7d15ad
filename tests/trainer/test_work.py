"""The input reads each byte once, and takes no new memory for each batch."""

import math
import os

import pytest
from fresh_python import printed

from trainer.input_pipeline import record_source

BATCH_SIZE = 8


def test_a_byte_of_a_shard_is_read_once_and_by_no_python(dataset, monkeypatch):
    """One run per megabyte, not per record."""
    planned = []
    runs_of = record_source.runs_of

    def counted(index, numbers):
        planned.append(runs_of(index, numbers))
        return planned[-1]

    for _ in dataset.batches("train", batch_size=BATCH_SIZE, features=["number"]):
        pass  # reads the index
    monkeypatch.setattr(record_source, "runs_of", counted)
    monkeypatch.setattr(os, "pread", pytest.fail)

    batches = dataset.batches("train", batch_size=BATCH_SIZE, features=["number"], shuffle=True)
    assert len(list(batches)) == math.ceil(50 / BATCH_SIZE)

    split = dataset.splits["train"]
    [runs] = planned
    assert runs.num_bytes.sum() == split.num_bytes
    assert len(runs.counts) == len(split.shards.files.names)
    assert runs.counts.sum() == 50


_COUNTS_NEW_PAGES = """
import itertools, resource, sys
import trainer

shape = {"batch_size": 16, "image_size": 512, "image_dtype": "float32", "repeat": True}
faults = []
for batch in itertools.islice(trainer.open(sys.argv[1]).batches("train", **shape), 24):
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
image = next(each for each in batch.values() if len(each.shape) == 4)
print((faults[-1] - faults[7]) / 16 / (image.dtype.size * int(image.shape.num_elements()) / 4096))
"""


@pytest.mark.slow
def test_memory_of_a_batch_is_that_of_one_before(dataset):
    """Malloc returns batches over 32 MiB to the system and allocates them anew, by page."""
    assert float(printed(_COUNTS_NEW_PAGES, dataset.path)) < 0.25  # of a batch's pages; was 1
