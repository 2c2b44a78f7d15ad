"""The pipeline of a job on this machine."""

import copy

from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions

from beam_pipeline.running.job import job_pipeline
from beam_pipeline.running.runner import PLAIN_JOB, local_runner


def test_a_view_of_the_options_is_made_once_and_shows_changes():
    options = PipelineOptions(["--save_main_session"])
    with job_pipeline(local_runner(), options, PLAIN_JOB) as pipeline:
        view = pipeline.options.view_as(SetupOptions)
        assert view is pipeline.options.view_as(SetupOptions)
        assert view.save_main_session
        copied = copy.deepcopy(pipeline.options)
        PipelineOptions.view_as(pipeline.options, SetupOptions).save_main_session = False
        assert not view.save_main_session
        assert copied.view_as(SetupOptions).save_main_session
