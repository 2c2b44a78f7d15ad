"""Every name of the local runner selects the one that loses no records."""

import sys

import apache_beam as beam
import apache_beam.pipeline
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.utils import interactive_utils

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.job import as_in_a_program
from beam_pipeline.running.runner import choose_runner, is_local, local_runner, spare_processes


@pytest.mark.parametrize(
    "name",
    [
        *("DirectRunner", "directrunner", "DIRECTRUNNER", "direct", "Direct"),
        *("SwitchingDirectRunner", "switchingdirectrunner", "FnApiRunner", "fnapi"),
        "apache_beam.runners.direct.direct_runner.DirectRunner",
        "apache_beam.runners.direct.direct_runner.SwitchingDirectRunner",
        "apache_beam.runners.DirectRunner",
        "apache_beam.runners.portability.fn_api_runner.FnApiRunner",
        "apache_beam.runners.portability.fn_api_runner.fn_runner.FnApiRunner",
    ],
)
def test_names_of_the_local_runner(monkeypatch, name):
    monkeypatch.setattr(worker_handlers, "DATA_BUFFER_TIME_LIMIT_MS", 1000)
    options = PipelineOptions(["--runner", name])
    assert is_local(options)
    assert isinstance(choose_runner(options), FnApiRunner)
    assert worker_handlers.DATA_BUFFER_TIME_LIMIT_MS == 0
    assert spare_processes(options) > 0


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--direct_running_mode=multi_threading", "leave it out.*--threads N"),
        ("--direct_running_mode=multi_processing", "leave it out.*--threads N"),
        ("--direct_num_workers=2", "leave it out.*--threads N"),
        *(
            (f"--runner={name}", "leave it out")
            for name in (
                *("BundleBasedDirectRunner", "bundlebaseddirectrunner", "TestDirectRunner"),
                "apache_beam.runners.direct.direct_runner.BundleBasedDirectRunner",
                *("InteractiveRunner", "Flnik", "Spark3Runner"),
            )
        ),
    ],
)
def test_what_runs_no_build_is_refused(option, remedy):
    """Includes workers of Beam's local runner."""
    with pytest.raises(ConfigError, match=f"^{option} .*{remedy}"):
        choose_runner(PipelineOptions([option]))


@pytest.mark.parametrize("option", ["--template_location=gs://b/t", "--dry_run=yes"])
@pytest.mark.parametrize("runner", [[], ["--runner=DataflowRunner"]])
def test_a_build_waits_for_its_job(option, runner):
    with pytest.raises(ConfigError, match="leave out --template_location and --dry_run"):
        choose_runner(PipelineOptions([option, *runner]))


def test_no_stage_asks_for_the_interactive_runner(monkeypatch):
    for module in (apache_beam.pipeline, interactive_utils):
        monkeypatch.setattr(module, "is_in_ipython", lambda: True)

    with as_in_a_program(), beam.Pipeline(local_runner()) as pipeline:
        pipeline | beam.Create([1])

    assert not [name for name in sys.modules if name.startswith("apache_beam.runners.interactive.")]
    assert interactive_utils.is_in_ipython()
    assert apache_beam.pipeline.is_in_ipython()
