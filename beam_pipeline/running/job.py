"""A job on this machine: its progress is shown, and its worker processes end with its pipeline."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any, TypeVar

import apache_beam as beam
import apache_beam.pipeline
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineRunner
from apache_beam.utils import interactive_utils

from beam_pipeline.running import progress
from beam_pipeline.running.locked_folders import temporary_folder
from beam_pipeline.running.parallel import end_processes
from beam_pipeline.running.runner import Job, spare_processes
from beam_pipeline.running.spill import spilling

_Options = TypeVar("_Options", bound=PipelineOptions)
_NOTEBOOK_MODULES = (apache_beam.pipeline, interactive_utils)


class _KeptViews(PipelineOptions):
    """Options whose views are made once: a build asks for 370, and each parses all flags again."""

    def view_as(self, cls: type[_Options]) -> _Options:
        views: dict[type[PipelineOptions], Any] = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        view: _Options = views[cls]
        return view

    def __getstate__(self) -> dict[str, Any]:
        # A copy has its own values, and views of its own.
        return {name: each for name, each in super().__getstate__().items() if name != "_views"}


@contextlib.contextmanager
def as_in_a_program() -> Iterator[None]:
    """Keep Beam from detecting a notebook, which imports its interactive runner.

    That labels stages by cells, and leaves temporary files.
    """
    before = [module.is_in_ipython for module in _NOTEBOOK_MODULES]
    for module in _NOTEBOOK_MODULES:
        module.is_in_ipython = lambda: False
    try:
        yield
    finally:
        for module, is_in_ipython in zip(_NOTEBOOK_MODULES, before, strict=True):
            module.is_in_ipython = is_in_ipython


@contextlib.contextmanager
def watched(options: PipelineOptions, spill_folder: str | None = None) -> Iterator[Job]:
    """Show the progress of a job on this machine, and yield its settings."""
    with temporary_folder() as folder, spilling(spill_folder) as spill, progress.shown(folder):
        yield Job(progress_dir=folder, processes=spare_processes(options), spill=spill)


@contextlib.contextmanager
def job_pipeline(
    runner: PipelineRunner | None, options: PipelineOptions, job: Job
) -> Iterator[beam.Pipeline]:
    """Make a pipeline of Beam's, which runs at the end, and end its worker processes.

    Its files are in the job's folder.
    """
    with as_in_a_program():
        pipeline = beam.Pipeline(runner, options.view_as(_KeptViews))
        pipeline.spill = job.spill  # for sources, which are made before the job (`spill_of`)
        if job.progress_dir:
            os.rmdir(pipeline.local_tempdir)
            pipeline.local_tempdir = os.path.join(job.progress_dir, ".beam")
            os.mkdir(pipeline.local_tempdir)
        try:
            with pipeline:
                yield pipeline
        finally:
            end_processes()  # a quarter of the memory when the report is drawn
