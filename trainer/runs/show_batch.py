"""The command `show-batch`: the first batch of a training, as a picture."""

import os
from pathlib import Path

from tfrecord_dataset import durable
from tfrecord_dataset.opening import cache_of
from trainer.dataset.opening import open_data
from trainer.options.commands import ShowBatchConfig
from trainer.progress import Progress
from trainer.report.pictures import of_batch, sheet
from trainer.runs import choices
from trainer.runs.batches import batch_changes, batches_by_options
from trainer.runs.data import order_of
from trainer.runs.own_parts import OwnParts
from trainer.tasks.inputs.image import check_images
from trainer.tasks.reading import with_statistics


def show_batch(config: ShowBatchConfig) -> str:
    """Draws the first batch that a training with these options sees; returns the file's path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    cache = cache_of(config.cache_dir, config.cache_bytes)
    dataset = open_data(config.data, config.schema, None, cache)
    split = choices.train_split(dataset, config.train_split)
    task, training = choices.choose(config.train_config(), dataset, progress)
    check_images("show-batch", task.inputs.values())
    task = with_statistics(task, dataset, split, progress.say)
    changes = batch_changes(training, task, dataset, split, None, num_workers=1)
    own = OwnParts().with_named(training).augment_fn
    make = batches_by_options(training, task, dataset, split, changes, own)
    batches = make(window=order_of(dataset, split).window)
    picture = sheet(of_batch(task, next(iter(batches)), config.batch_size))
    durable.make_folders(os.fspath(Path(config.output).parent))
    with durable.replacing(config.output, synced=False) as handle:
        picture.save(handle, "PNG")
    return config.output
