"""The command `show-batch`: the first batch of a training, as a picture."""

import os
from pathlib import Path

from tfrecord_dataset import durable
from trainer.options.commands import ShowBatchConfig
from trainer.progress import Progress
from trainer.report.pictures import of_batch, sheet
from trainer.runs.batches import open_input
from trainer.runs.data import order_of
from trainer.tasks.inputs.image import check_images


def show_batch(config: ShowBatchConfig) -> str:
    """Draws the first batch that a training with these options sees; returns the file's path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    found = open_input(config, Progress(quiet=config.quiet))
    check_images("show-batch", found.task.inputs.values())
    batches = found.batches(window=order_of(found.dataset, found.split).window)
    picture = sheet(of_batch(found.task, next(iter(batches)), config.batch_size))
    durable.make_folders(os.fspath(Path(config.output).parent))
    with durable.replacing(config.output, synced=False) as handle:
        picture.save(handle, "PNG")
    return config.output
