"""Views of a job's options are made once, and show what every other view shows."""

import copy
import pickle

import pytest
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions

from beam_pipeline.running.options import JobOptions

FLAGS = ["--runner=PortableRunner", "--direct_num_workers=3", "--streaming"]


def test_a_view_is_made_once():
    options = JobOptions(FLAGS)
    view = options.view_as(DirectOptions)
    assert isinstance(view, DirectOptions)
    assert options.view_as(DirectOptions) is view
    assert options.view_as(StandardOptions) is not view


def test_they_are_what_beams_own_are():
    assert JobOptions(FLAGS).get_all_options() == PipelineOptions(FLAGS).get_all_options()


def test_what_is_set_shows_in_every_view():
    options = JobOptions(FLAGS)
    early = options.view_as(StandardOptions)
    options.view_as(PipelineOptions).view_as(StandardOptions).runner = "FnApiRunner"
    assert early.runner == options.view_as(StandardOptions).runner == "FnApiRunner"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_has_views_of_its_own(copied):
    options = JobOptions(FLAGS)
    assert options.view_as(DirectOptions).direct_num_workers == 3
    other = copied(options)
    other.view_as(DirectOptions).direct_num_workers = 5
    assert other.view_as(DirectOptions).direct_num_workers == 5
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert other.view_as(StandardOptions).streaming
