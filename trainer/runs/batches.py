"""The batches that a run trains on, by its options."""

import functools
from collections.abc import Callable, Sequence

import tensorflow as tf

from trainer.augmentation.mixing import Mixing
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.options.train import TrainConfig
from trainer.parsing import Augment
from trainer.runs.record import RunConfig
from trainer.tasks import Task
from trainer.tasks.batch_changes import BatchChanges
from trainer.tasks.class_weights import class_weights
from trainer.tasks.inputs.image import check_images
from trainer.tasks.models import path_of
from trainer.tasks.reading import training_batches

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
        task.check_one_class("--sampling balanced")
    weights: Sequence[float] = () if previous is None else previous.class_weights
    if previous is None and config.class_weights is not None:
        weights = class_weights(config.class_weights, task, dataset, split)
    changes = BatchChanges(
        label_smoothing=config.label_smoothing,
        mixing=Mixing(mixup=config.mixup, cutmix=config.cutmix),
        class_weights=tuple(weights),
    )
    changes.check(task, config.batch_size, num_workers)
    return changes


def batches_by_options(
    config: TrainConfig,
    task: Task,
    dataset: Dataset,
    split: str,
    changes: BatchChanges,
    augment: Augment | None,
) -> Callable[..., tf.data.Dataset]:
    """`training_batches` with all that the options say of them.

    Args:
        config: The options, with a seed.
        task: What is trained.
        dataset: The records.
        split: To train on.
        changes: What the options change in batches.
        augment: The user's own function; None for none.

    Raises:
        ConfigError: The function does not take the task's images.
    """
    assert config.seed is not None
    return functools.partial(
        training_batches,
        task,
        dataset,
        split,
        batch_size=config.batch_size,
        seed=config.seed,
        changes=changes,
        augment=None if augment is None else _checked_augmentation(augment, task),
        balanced=config.sampling == _BALANCED,
    )


def _checked_augmentation(function: Augment, task: Task) -> Augment:
    """The user's function, tried on the task's images.

    Raises:
        ConfigError: There is no image, or the function does not take it, or returns another kind.
    """
    path = path_of(function)
    check_images(f"--augment-fn {path}", task.inputs.values())
    image = tf.TensorSpec(task.images[0].shape, tf.uint8)
    try:
        made = tf.function(function).get_concrete_function(image, tf.TensorSpec([2], tf.int64))
    except Exception as error:  # whatever the user's function raises
        raise ConfigError(
            f"--augment-fn {path} does not take an image, uint8 {image.shape}, and a seed, int64 "
            f"[2]: {error}"
        ) from error
    found = made.structured_outputs
    if not isinstance(found, tf.Tensor | tf.TensorSpec) or (
        found.dtype != tf.uint8 or not found.shape.is_compatible_with(image.shape)
    ):
        raise ConfigError(
            f"--augment-fn {path} returns {found}; return an image of the same kind, uint8 "
            f"{image.shape}"
        )
    return function
