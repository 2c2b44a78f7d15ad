"""The command `report`."""

import os

from trainer.options.commands import ReportConfig
from trainer.runs.directory import RunDirectory
from trainer.runs.page import draw_again


def report(config: ReportConfig) -> str:
    """Writes the page of a run anew, by what the run holds; returns its path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    run = RunDirectory(config.run_path)
    draw_again(run, config.compare)
    return os.fspath(run.report)
