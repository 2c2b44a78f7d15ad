"""What a task reads: once before training, to learn about the data, then batch after batch."""

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from trainer.dataset import Dataset
from trainer.tasks.inputs.image import Image
from trainer.tasks.target_choice import shortened
from trainer.tasks.task import Task

_LEARNING_BATCH = 1024


def learned(task: Task, dataset: Dataset, split: str, say: Callable[[str], None]) -> Task:
    """The task, with what one pass over the train split tells of its inputs and its target.

    Raises:
        ConfigError: Something in the split cannot be learned from.
    """
    of_inputs = {name: learner for name, each in task.inputs.items() if (learner := each.learner())}
    of_goal = task.goal.learner()
    statistics = {task.inputs[name].name: each.statistic for name, each in of_inputs.items()}
    if of_goal is not None:
        statistics[task.target] = of_goal.statistic
    if not statistics:
        return task
    say(f"going through {split!r} once, to know {shortened([*statistics])}")
    batches = dataset.batches(
        split, batch_size=_LEARNING_BATCH, features=list(statistics), ragged=True
    )
    for batch in batches:
        for name, statistic in statistics.items():
            values = batch[name]
            is_ragged = isinstance(values, tf.RaggedTensor)
            statistic.add((values.flat_values if is_ragged else values).numpy())
    known = {name: learner.finish() for name, learner in of_inputs.items()}
    goal = task.goal if of_goal is None else of_goal.finish()
    return dataclasses.replace(task, inputs={**task.inputs, **known}, goal=goal)


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
    """One pass of (inputs, target); weights have no part in it."""
    batches = dataset.batches(
        split, batch_size=batch_size, features=task.features, target=task.target, **_decoding(task)
    )
    return batches.map(task.host_step())


def _decoding(task: Task) -> dict[str, Any]:
    """The arguments of `Dataset.batches` that the inputs decide."""
    inputs = task.inputs.values()
    sizes = [(each.height, each.width) for each in inputs if isinstance(each, Image)]
    lengths = {each.name: each.pad_to for each in inputs if each.pad_to is not None}
    return {
        "image_size": sizes[0] if sizes else None,
        "image_dtype": "uint8",  # a quarter of the bytes on their way to the device
        "audio_mono": True,  # before shorter records, and those of fewer channels, are filled up
        "pad": lengths,
        "truncate": bool(lengths),
        "padding_value": {each.name: each.padding for each in inputs if each.padding is not None},
    }
