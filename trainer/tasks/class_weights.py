"""Weights of classes in the training loss."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from trainer.dataset import Dataset
from trainer.errors import ConfigError, UnknownNameError
from trainer.tasks.reading import decoding_arguments
from trainer.tasks.task import Task
from trainer.tensors import unconverted

BALANCED = "balanced"
_BATCH_SIZE = 64


def read_weights(text: str) -> Mapping[str, float] | None:
    """Parse `--class-weights`: weights by class from `WBC=2,RBC=0.5`; None for "balanced".

    Raises:
        ConfigError: It is neither, or a weight is not a number of at least 0.
    """
    if text == BALANCED:
        return None
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (each.strip() for each in part.rpartition("="))
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not name or name in weights or not 0 <= weight < math.inf:
            raise ConfigError(
                f"--class-weights: {part!r} is not a class, named once, with a weight from 0; give "
                "balanced, or weights such as WBC=2,RBC=0.5"
            )
        weights[name] = weight
    return weights


def class_weights(text: str, task: Task, dataset: Dataset, split: str) -> list[float]:
    """Return the weight of each class, in the order of the task's classes.

    A balanced weight is the number of records (for maps, pixels) divided by those of the class and
    by the number of classes: all classes get the same total weight, and the mean over the records
    is 1. Classes that are not named have weight 1.

    Raises:
        ConfigError: The target is not one class per record or per pixel, or a weight is wrong.
        UnknownNameError: A class does not exist.
    """
    needs = "--class-weights needs one class per record or per pixel"
    task.goal.check(task.goal.excludes_classes, needs)
    stated = read_weights(text)
    if stated is None:
        return balanced(count_by_class(task, dataset, split))
    for name in stated:
        if name not in task.classes:
            raise UnknownNameError("class, for --class-weights,", name, task.classes)
    return [stated.get(name, 1.0) for name in task.classes]


def balanced(counts: Sequence[int]) -> list[float]:
    """Compute the weight of each class from its number of records or pixels; 1 if it has none."""
    present = sum(count > 0 for count in counts)
    return [sum(counts) / (present * count) if count else 1.0 for count in counts]


def count_by_class(task: Task, dataset: Dataset, split: str) -> list[int]:
    """Count records (for maps, pixels) by class, from statistics.json or else in one pass."""
    facts = dataset.statistics(split).get(task.target, {})
    stated = facts.get("classes") or facts.get("strings")
    if stated and task.goal.has_one_class:
        return [stated.get(name, 0) for name in task.classes]
    batches = dataset.batches(
        split,
        batch_size=_BATCH_SIZE,
        features=[task.target],
        prepare=unconverted(task.goal.host_step()),
        **decoding_arguments(task),
    )
    size = len(task.classes)
    counts = np.zeros(size, np.int64)
    for numbers in batches.as_numpy_iterator():
        counts += np.bincount(numbers[numbers < size], minlength=size)
    return counts.tolist()
