"""Every name of the local runner leads to the one that loses nothing."""

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.runner import choose_runner, is_local, spare_processes


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
    "option",
    [
        "--direct_running_mode=multi_threading",
        "--direct_running_mode=multi_processing",
        "--direct_num_workers=2",
    ],
)
def test_workers_of_beams_local_runner_are_refused(option):
    with pytest.raises(ConfigError, match=rf"^{option} .*leave it out.*--threads N"):
        choose_runner(PipelineOptions([option]))


@pytest.mark.parametrize(
    "name",
    [
        *("FlinkRunner", "flink", "DataflowRunner", "PortableRunner", "PrismRunner", "prism"),
        "apache_beam.runners.portability.flink_runner.FlinkRunner",
        "somebody.else.DirectRunner",
    ],
)
def test_other_runners_are_left_to_beam(name):
    options = PipelineOptions(["--runner", name])
    assert not is_local(options)
    assert choose_runner(options) is None
    assert spare_processes(options) == 0


@pytest.mark.parametrize(
    "name",
    [
        *("BundleBasedDirectRunner", "bundlebaseddirectrunner", "TestDirectRunner"),
        "apache_beam.runners.direct.direct_runner.BundleBasedDirectRunner",
        *("InteractiveRunner", "Flnik", "Spark3Runner"),
    ],
)
def test_runners_that_run_no_build_are_refused(name):
    with pytest.raises(ConfigError, match=f"--runner={name} .*leave it out"):
        choose_runner(PipelineOptions(["--runner", name]))
