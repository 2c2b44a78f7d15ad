"""The runner of a job, and what its stages know of the job.

Options that would lose records are refused, and a private part of Beam's local runner is changed so
that it loses none.
"""

import dataclasses
from typing import Any

from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import (
    DirectOptions,
    GoogleCloudOptions,
    PipelineOptions,
    StandardOptions,
    TestOptions,
)
from apache_beam.pipeline import Pipeline
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.runners.runner import PipelineRunner

from beam_pipeline.errors import ConfigError
from beam_pipeline.files.kept import NOTHING_KEPT, Kept
from beam_pipeline.running.parallel import usable_cpus
from beam_pipeline.running.spill import NOT_SPILLED, Spill


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """Settings of a job for its stages.

    Attributes:
        progress_dir: Folder for the counts of stages; empty for none.
        beat_s: Seconds between a stage's counts.
        processes: Number of worker processes that stages may start.
        problem_file: File for an error that a retry cannot fix; empty if stages raise it.
        spill: Location of tables and rejects between the stages.
        kept: Copies of what Inspect reads of a store.
        claim: Version of the build's claim on a store's folder (`write/claim.py`); empty for none.
    """

    progress_dir: str = ""
    beat_s: float = 0.2
    processes: int = 0
    problem_file: str = ""
    spill: Spill = NOT_SPILLED
    kept: Kept = NOTHING_KEPT
    claim: str = ""

    @property
    def is_here(self) -> bool:
        """Whether the launching process sends batches to worker processes."""
        return self.processes > 0


# For a user's own pipeline.
PLAIN_JOB = Job()


def counter(name: str) -> Any:
    """Return a counter for runners' pages; call `inc(number)` in the thread of the DoFn."""
    return Metrics.counter("beam_tfrecords", name)


# Like Beam's --runner: lower case, without "runner" at the end.
_LOCAL_RUNNERS = frozenset({"direct", "switchingdirect", "fnapi"})
_RUNS_NO_BUILD = frozenset({"bundlebaseddirect", "testdirect", "interactive"})
_BEAMS_RUNNERS = frozenset(
    name.lower().removesuffix("runner") for name in StandardOptions.KNOWN_RUNNER_NAMES
)


def is_local(options: PipelineOptions) -> bool:
    """Whether the job runs in this process and its worker processes."""
    return runner_name(options) in _LOCAL_RUNNERS


def runner_name(options: PipelineOptions) -> str:
    """Return a runner of Beam's as "direct" or "flink", and any other by its class's full name."""
    name: str = options.view_as(StandardOptions).runner or "direct"
    if "." in name and not name.startswith("apache_beam."):
        return name
    return name.rpartition(".")[2].lower().removesuffix("runner")


def spare_processes(options: PipelineOptions) -> int:
    """Return the number of processes that stages may start; a cluster starts its own."""
    return usable_cpus() if is_local(options) else 0


def choose_runner(options: PipelineOptions) -> PipelineRunner | None:
    """Return the safe local runner; None if `options` name another one.

    Raises:
        ConfigError: The runner cannot run a build, or an option would break the build.
    """
    if (
        options.view_as(GoogleCloudOptions).template_location
        or options.view_as(TestOptions).dry_run
    ):
        raise ConfigError(
            "build starts its job and waits for it; leave out --template_location and --dry_run, "
            "or run plan"
        )
    name = runner_name(options)
    if name in _RUNS_NO_BUILD or ("." not in name and name not in _BEAMS_RUNNERS):
        raise ConfigError(
            f"--runner={options.view_as(StandardOptions).runner} cannot run a build; leave it out "
            "to run on this machine, or name a cluster's runner, such as FlinkRunner"
        )
    if name not in _LOCAL_RUNNERS:
        return None
    _check_workers(options.view_as(DirectOptions))
    return local_runner()


def _check_workers(options: DirectOptions) -> None:
    """Refuse Beam's own workers: threads lose records, processes outlive a killed build."""
    for option, default in (("direct_running_mode", "in_memory"), ("direct_num_workers", 1)):
        value = getattr(options, option)
        if value not in (None, default):
            raise ConfigError(
                f"--{option}={value} starts Beam's own workers, which lose records or outlive a "
                "killed build; leave it out, as a build starts a process per CPU, or pass "
                "--threads N"
            )


def local_runner() -> FnApiRunner:
    """Return Beam's FnApiRunner; DirectRunner would try Prism first, which needs a download.

    A timer thread in its data plane races with the writer's buffer and loses records silently;
    without a time limit there is no timer (docs/dev/design.md). Its cache of side inputs walks
    through every object in them to know their size, which takes longer than reading them again.
    """
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    worker_handlers.STATE_CACHE_SIZE_MB = 0
    return FnApiRunner()


def runs_here(pipeline: Pipeline) -> bool:
    """Whether that runner runs a pipeline, in one process and bundle by bundle."""
    return isinstance(pipeline.runner, FnApiRunner)
