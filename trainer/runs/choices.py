"""What `train` chooses where its options leave it open: splits, task, sizes, steps."""

import dataclasses
from collections.abc import Iterator

from tfrecord_dataset.image_size import ImageSize
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.options.train import TrainConfig
from trainer.progress import Progress
from trainer.tasks import Task, choose_task
from trainer.tasks.inputs.image import USUAL_SIZE, check_images, declared_size

_VALIDATION_NAMES = ("validation", "val", "valid")


def train_split(dataset: Dataset, name: str | None) -> str:
    """The name of the split to train on."""
    if name is None and "train" in dataset.splits:
        return "train"
    return dataset.split(name).name


def validation_split(dataset: Dataset, name: str | None, progress: Progress) -> str | None:
    """The name of the split to validate on, or None."""
    if name == "none":
        return None
    if name is not None:
        return dataset.split(name).name
    for usual in _VALIDATION_NAMES:
        if usual in dataset.splits:
            return usual
    progress.say(
        f"no validation: none of the splits {', '.join(dataset.splits)} is named "
        f"{', '.join(_VALIDATION_NAMES)}; name one by --validation-split"
    )
    return None


def evaluation_split(dataset: Dataset, name: str | None) -> str:
    """The name of the split to evaluate on, or to predict for."""
    default = "test" if "test" in dataset.splits else None
    return dataset.split(name or default).name


def choose(config: TrainConfig, dataset: Dataset, progress: Progress) -> tuple[Task, TrainConfig]:
    """The task, and the options completed with the size of its images."""

    def chosen(size: ImageSize | None) -> tuple[Task, str]:
        return choose_task(dataset.features, dataclasses.replace(config, image_size=size))

    size = config.image_size or declared_size(dataset.features.values())
    task, reason = chosen(size)
    shown = None if config.image_size else task.goal.image_size(size)
    if shown is not None:
        size, (task, reason) = shown, chosen(shown)
        progress.say(f"images are shown at {size} (--image-size)")
    progress.say(f"task {task.name}: {reason}")
    if config.image_size is not None:
        check_images("--image-size", task.inputs.values())
    if task.images and size is None:
        size = USUAL_SIZE
        progress.say(f"images differ in size; resizing to {size} (--image-size)")
    return task, dataclasses.replace(config, image_size=size if task.images else None)


def remarks(task: Task, *, own_model: bool) -> Iterator[str]:
    """What is to be said of a task with its statistics.

    Args:
        task: New.
        own_model: Whether the model is the user's own.
    """
    for each in task.inputs.values():
        yield from each.remarks(own_model=own_model)
    if task.goal.excludes_classes and len(task.classes) == 1:
        yield f"{task.target} has only one class: there is nothing to predict"


def num_records(config: TrainConfig, dataset: Dataset, split: str) -> int:
    """The records of the train split.

    Raises:
        ConfigError: It has none.
    """
    number = dataset.num_records(split)
    if number == 0:
        raise ConfigError(
            f"the train split of {config.data} has no records; build the dataset again"
        )
    return number


def steps_per_epoch(config: TrainConfig, num_records: int, progress: Progress) -> int:
    """The steps of an epoch: the full batches in a pass, or what the option says."""
    if num_records < config.global_batch:
        progress.say(
            f"a batch of {config.global_batch} is larger than the {num_records} training records; "
            "some occur twice in a batch"
        )
    return config.steps_per_epoch or max(1, num_records // config.global_batch)
