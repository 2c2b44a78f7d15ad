"""Which runner runs the job, and what must be set for it to lose nothing."""

import dataclasses

from apache_beam.options.pipeline_options import (
    DirectOptions,
    GoogleCloudOptions,
    PipelineOptions,
    StandardOptions,
    TestOptions,
)
from apache_beam.runners.runner import PipelineRunner

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.local_runner import local_runner
from beam_pipeline.running.parallel import usable_cpus
from beam_pipeline.running.spill import NOT_SPILLED, Spill


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What the stages of a job are told of where they run.

    Attributes:
        progress_dir: Where stages leave their counts; empty for nowhere.
        beat_s: Seconds between a stage's counts.
        processes: Worker processes that stages may start.
        problem_file: Where a stage leaves an error that no other attempt would heal, instead of
            raising it; empty where it raises.
        spill: Where tables and rejects wait between the stages.
    """

    progress_dir: str = ""
    beat_s: float = 0.2
    processes: int = 0
    problem_file: str = ""
    spill: Spill = NOT_SPILLED

    @property
    def is_here(self) -> bool:
        """Whether the launching process hands batches to worker processes."""
        return self.processes > 0


# It has none of all that: a user's own pipeline, wherever it runs.
PLAIN_JOB = Job()

# As Beam reads --runner: in any letter case, with or without "runner" at the end.
_LOCAL_RUNNERS = frozenset({"direct", "switchingdirect", "fnapi"})
_RUNS_NO_BUILD = frozenset({"bundlebaseddirect", "testdirect", "interactive"})
_BEAMS_RUNNERS = frozenset(
    name.lower().removesuffix("runner") for name in StandardOptions.KNOWN_RUNNER_NAMES
)


def is_local(options: PipelineOptions) -> bool:
    """Whether `options` run the job in this process, and in worker processes that it starts."""
    return runner_name(options) in _LOCAL_RUNNERS


def runner_name(options: PipelineOptions) -> str:
    """A runner of Beam's as "direct", "flink" and so on; another's class by its full name."""
    name: str = options.view_as(StandardOptions).runner or "direct"
    if "." in name and not name.startswith("apache_beam."):
        return name
    return name.rpartition(".")[2].lower().removesuffix("runner")


def spare_processes(options: PipelineOptions) -> int:
    """Processes that stages may start: none where a cluster starts the workers."""
    return usable_cpus() if is_local(options) else 0


def choose_runner(options: PipelineOptions) -> PipelineRunner | None:
    """The local runner made safe, or None where `options` name another one.

    Raises:
        ConfigError: `options` name a runner that cannot run a build, ask the local one for workers
            of Beam's own, or ask for no job.
    """
    if (
        options.view_as(GoogleCloudOptions).template_location
        or options.view_as(TestOptions).dry_run
    ):
        raise ConfigError(
            "build starts its job and waits for it; leave out --template_location and --dry_run, "
            "or see with plan what it would do"
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
    """Beam's local threads lose records; its processes outlive it, and listen to any machine."""
    for option, default in (("direct_running_mode", "in_memory"), ("direct_num_workers", 1)):
        value = getattr(options, option)
        if value not in (None, default):
            raise ConfigError(
                f"--{option}={value} asks Beam's local runner for workers of its own, which lose "
                "records or outlive a build that is killed; leave it out: a build starts a worker "
                "process for each CPU by itself, or works with N threads in place of them by "
                "--threads N"
            )
