"""The batches that a run trains on, by its options; the first as a picture: `show-batch`."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfrecord_dataset import durable, users_code
from trainer.dataset import Dataset
from trainer.dataset.opening import open_data
from trainer.errors import ConfigError
from trainer.options.commands import ShowBatchConfig, TuneConfig
from trainer.options.train import TrainConfig
from trainer.parsing import Augment
from trainer.progress import Progress
from trainer.report.pictures import of_batch, sheet
from trainer.runs import choices, plan
from trainer.runs.data import order_of
from trainer.runs.record import RunConfig
from trainer.tasks import Task
from trainer.tasks.batch_changes import BatchChanges
from trainer.tasks.class_weights import class_weights
from trainer.tasks.inputs.image import check_images
from trainer.tasks.models import path_of
from trainer.tasks.reading import training_batches, with_statistics

_BALANCED = "balanced"


def batch_changes(
    config: TrainConfig,
    task: Task,
    dataset: Dataset,
    split: str,
    previous: RunConfig | None,
    num_workers: int,
) -> BatchChanges:
    """What the options change in batches.

    Args:
        config: The options.
        task: What is trained.
        dataset: With the records of each class.
        split: To train on.
        previous: config.json of a run that goes on, which keeps its weights of classes; or None.
        num_workers: That share a batch.

    Raises:
        ConfigError: The task does not suit an option.
    """
    if config.sampling == _BALANCED:
        task.goal.check(task.goal.has_one_class, "--sampling balanced needs one class per record")
    weights: Sequence[float] = () if previous is None else previous.class_weights
    if previous is None and config.class_weights is not None:
        weights = class_weights(config.class_weights, task, dataset, split)
    changes = BatchChanges(
        label_smoothing=config.label_smoothing,
        mixup=config.mixup,
        cutmix=config.cutmix,
        class_weights=tuple(weights),
    )
    changes.check(task, config.global_batch, num_workers)
    return changes


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingInput:
    """What the batches of a training are made of.

    Attributes:
        dataset: The records.
        split: That is read.
        task: What is trained on it.
        config: The options of the training, completed, with a seed.
        changes: What they change in batches.
        augment: The user's own function of an image and a seed; None for none.

    Raises:
        ConfigError: The function does not take the task's images.
    """

    dataset: Dataset
    split: str
    task: Task
    config: TrainConfig
    changes: BatchChanges
    augment: Augment | None

    def __post_init__(self) -> None:
        if self.augment is not None:
            _check_augmentation(self.augment, self.task)

    def batches(self, **more: Any) -> tf.data.Dataset:
        """`training_batches` with all that the options say of them, and more of its arguments."""
        assert self.config.seed is not None
        return training_batches(
            self.task,
            self.dataset,
            self.split,
            batch_size=self.config.global_batch,
            seed=self.config.seed,
            changes=self.changes,
            augment=self.augment,
            balanced=self.config.sampling == _BALANCED,
            **more,
        )


def open_input(config: ShowBatchConfig | TuneConfig, progress: Progress) -> TrainingInput:
    """The input of the new training whose options a command has.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    dataset = open_data(
        config.data,
        config.schema,
        None,
        config.cache_dir,
        config.cache_bytes,
        allow_missing_shards=config.allow_missing_shards,
    )
    split = choices.train_split(dataset, config.train_split)
    task, options = choices.choose(config.train_config(), dataset, progress)
    task = with_statistics(task, dataset, split, progress.say)
    if options.batch_size is None:
        size = plan.batch_size(dataset.num_records(split))
        options = dataclasses.replace(options, batch_size=size)
    return TrainingInput(
        dataset=dataset,
        split=split,
        task=task,
        config=options,
        changes=batch_changes(options, task, dataset, split, None, num_workers=1),
        augment=None,
    )


def show_batch(config: ShowBatchConfig) -> str:
    """Draws the first batch that a training with these options sees; returns the file's path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    found = open_input(config, Progress(quiet=config.quiet))
    check_images("show-batch", found.task.inputs.values())
    batches = found.batches(window=order_of(found.dataset, found.split).window)
    picture = sheet(of_batch(found.task, next(iter(batches)), found.config.global_batch))
    durable.make_folders(os.fspath(Path(config.output).parent))
    with durable.replacing(config.output, synced=False) as handle:
        picture.save(handle, "PNG")
    return config.output


def _check_augmentation(function: Augment, task: Task) -> None:
    """Raises ConfigError unless the user's function takes the task's images, and returns such."""
    path = path_of(function)
    check_images(f"augment={path}", task.inputs.values())
    image = tf.TensorSpec(task.images[0].shape, tf.uint8)
    try:
        made = tf.function(function).get_concrete_function(image, tf.TensorSpec([2], tf.int64))
    except Exception as error:  # whatever the user's function raises
        if users_code.place_of(error):
            raise
        raise ConfigError(
            f"augment={path} does not take an image, uint8 {image.shape}, and a seed, int64 "
            f"[2]: {error}"
        ) from error
    found = made.structured_outputs
    if not isinstance(found, tf.Tensor | tf.TensorSpec) or (
        found.dtype != tf.uint8 or not found.shape.is_compatible_with(image.shape)
    ):
        raise ConfigError(
            f"augment={path} returns {_kind(found)}; return an image of the same kind, uint8 "
            f"{image.shape}"
        )


def _kind(value: Any) -> str:
    """What a function has returned, as `uint8 (16, 16, 3)`."""
    is_tensor = isinstance(value, tf.Tensor | tf.TensorSpec)
    return f"{value.dtype.name} {value.shape}" if is_tensor else repr(value)
