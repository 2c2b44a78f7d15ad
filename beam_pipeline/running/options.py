"""Beam's options, looked at more cheaply."""

from typing import Any

from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    StandardOptions,
    TestOptions,
)

from beam_pipeline.errors import ConfigError


class JobOptions(PipelineOptions):
    """Beam's `PipelineOptions`, each view of which is made once.

    Beam makes a parser of a view's flags at each of its looks, 0.7 ms, and looks some five
    hundred times at a job: a third of the time of a small build. Views share their values,
    so one that was made earlier shows the same.
    """

    def view_as(self, cls: type[Any]) -> Any:
        """These options as an object of Beam's class `cls`."""
        # Past Beam's own __setattr__, which knows options alone.
        views: dict[type[Any], Any] = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: Beam would make Google Cloud's parser, 1.4 ms, for each view in it."""
        return {name: value for name, value in super().__getstate__().items() if name != "_views"}


class KeepingOptions(PipelineOptions):
    """Whether a job server that a build starts stays for the next one."""

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--keep_job_server",
            "--keep-job-server",
            action="store_true",
            help="leave the job server that a build on Flink starts for the next command; it ends "
            "by `doctor --stop-job-server`, or once nobody has used it for 15 minutes",
        )


def is_staged_only(options: PipelineOptions) -> bool:
    """Whether --template_location or --dry_run ask Dataflow for no job now.

    Raises:
        ConfigError: They ask another runner, which would start the job.
    """
    asked = {
        "--template_location": options.view_as(GoogleCloudOptions).template_location,
        "--dry_run": options.view_as(TestOptions).dry_run,
    }
    option = next((option for option, value in asked.items() if value), "")
    runner = options.view_as(StandardOptions).runner or "the local runner"
    if option and "dataflow" not in runner.lower():
        raise ConfigError(
            f"{option} is for --runner=DataflowRunner; {runner} would run the job. Leave it out, "
            "or see with plan what build would do"
        )
    return bool(option)
