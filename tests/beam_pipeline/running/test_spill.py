"""Spilled data is in an unnamed file; on other machines it stays in the elements."""

import os
import pickle

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.running.job import job_pipeline, watched
from beam_pipeline.running.runner import local_runner
from beam_pipeline.running.spill import NOT_SPILLED, spill_of, spilling

TABLES = [b"one", b"", bytes(3 << 20)]


@pytest.mark.parametrize("spilled", [True, False])
def test_what_is_put_is_got_in_any_order_any_number_of_times(tmp_path, spilled):
    with spilling(str(tmp_path)) as file:
        spill = pickle.loads(pickle.dumps(file if spilled else NOT_SPILLED))
        elements = list(map(spill.put, TABLES))
        assert [spill.get(element) for element in reversed(elements)] == TABLES[::-1]
        tables = spill.all(elements)
        assert list(tables) == list(tables) == TABLES
        assert not os.listdir(tmp_path)


def test_elements_of_spilled_tables_are_small(tmp_path):
    with spilling(str(tmp_path)) as spill:
        assert {len(spill.put(table)) for table in TABLES} == {16}


def test_sources_find_the_spill_of_their_job():
    options = PipelineOptions([])
    with watched(options) as job, job_pipeline(local_runner(), options, job) as pipeline:
        values = pipeline | beam.Create([1])
        assert spill_of(values) == job.spill != NOT_SPILLED


def test_a_pipeline_of_the_user_has_no_spill():
    assert spill_of(beam.Pipeline() | beam.Create([1])) == NOT_SPILLED
