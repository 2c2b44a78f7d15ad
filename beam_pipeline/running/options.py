"""Beam's options that ask for no job now."""

from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    StandardOptions,
    TestOptions,
)

from beam_pipeline.errors import ConfigError


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
