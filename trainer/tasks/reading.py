"""Reads the data of a task: once before training for statistics, then batch after batch."""

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from trainer.dataset import Dataset
from trainer.tasks.inputs.image import Image
from trainer.tasks.target_choice import shorten
from trainer.tasks.task import Task

_STATISTICS_BATCH_SIZE = 1024


def with_statistics(task: Task, dataset: Dataset, split: str, say: Callable[[str], None]) -> Task:
    """The task, with the statistics of its inputs and target from one pass over the train split.

    Raises:
        ConfigError: Models cannot learn from some value in the split.
    """
    input_learners = {
        name: learner for name, each in task.inputs.items() if (learner := each.learner())
    }
    goal_learner = task.goal.learner()
    statistics = {task.inputs[name].name: each.statistic for name, each in input_learners.items()}
    if goal_learner is not None:
        statistics[task.target] = goal_learner.statistic
    if not statistics:
        return task
    say(f"reading {split!r} once for statistics of {shorten([*statistics])}")
    batches = dataset.batches(
        split, batch_size=_STATISTICS_BATCH_SIZE, features=list(statistics), ragged=True
    )
    for batch in batches:
        for name, statistic in statistics.items():
            values = batch[name]
            is_ragged = isinstance(values, tf.RaggedTensor)
            statistic.add((values.flat_values if is_ragged else values).numpy())
    inputs = {name: learner.finish() for name, learner in input_learners.items()}
    goal = task.goal if goal_learner is None else goal_learner.finish()
    return dataclasses.replace(task, inputs={**task.inputs, **inputs}, goal=goal)


def training_batches(
    task: Task, dataset: Dataset, split: str, *, batch_size: int, seed: int, first_record: int = 0
) -> tf.data.Dataset:
    """Endless full batches of (inputs, target), or (inputs, target, weight), shuffled."""
    weights = [] if task.sample_weight is None else [task.sample_weight]
    batches = dataset.batches(
        split,
        batch_size=batch_size,
        features=[*task.features, *weights],
        target=task.target,
        sample_weight=task.sample_weight,
        shuffle=True,
        seed=seed,
        repeat=True,
        first_record=first_record,
        drop_remainder=True,
        **_decoding(task),
    )
    return batches.map(task.host_step())


def evaluation_batches(
    task: Task, dataset: Dataset, split: str, *, batch_size: int
) -> tf.data.Dataset:
    """One pass of (inputs, target), without weights."""
    batches = dataset.batches(
        split, batch_size=batch_size, features=task.features, target=task.target, **_decoding(task)
    )
    return batches.map(task.host_step())


def _decoding(task: Task) -> dict[str, Any]:
    """The arguments of `Dataset.batches` that depend on the inputs."""
    inputs = task.inputs.values()
    sizes = [(each.height, each.width) for each in inputs if isinstance(each, Image)]
    lengths = {each.name: each.pad_to for each in inputs if each.pad_to is not None}
    return {
        "image_size": sizes[0] if sizes else None,
        "image_dtype": "uint8",  # a quarter of the bytes to transfer to the device
        "audio_mono": True,  # before records with fewer samples or channels are padded
        "pad": lengths,
        "truncate": bool(lengths),
        "padding_value": {each.name: each.padding for each in inputs if each.padding is not None},
    }
