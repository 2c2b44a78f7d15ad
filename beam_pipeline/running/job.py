"""A job on this machine: its progress is shown, and its worker processes end with it."""

import contextlib
from collections.abc import Iterator

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.running import progress
from beam_pipeline.running.memory import return_memory
from beam_pipeline.running.parallel import end_processes
from beam_pipeline.running.runner import NOT_LOCAL, LocalJob, is_local, spare_processes
from beam_pipeline.running.temporary import temporary_folder


@contextlib.contextmanager
def watched(options: PipelineOptions) -> Iterator[LocalJob]:
    """Shows the progress of a local job; yields what its stages are told of this machine."""
    if not is_local(options):
        yield NOT_LOCAL
        return
    return_memory()
    with (
        temporary_folder() as folder,
        progress.shown(folder),
    ):
        try:
            yield LocalJob(progress_dir=folder, processes=spare_processes(options))
        finally:
            end_processes()
