"""Reads the data of a task: before training for statistics and class weights, then in batches."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.shown_text import listed, size_text
from trainer.dataset import Dataset
from trainer.errors import ConfigError, UnknownNameError
from trainer.image_cache import ImageCache, free_memory
from trainer.parsing import Augment
from trainer.tasks.data_checks import class_counts
from trainer.tasks.inputs import Input
from trainer.tasks.statistics import Statistic
from trainer.tasks.targets import Target
from trainer.tasks.task import Task
from trainer.tensors import Tensor, converted, unconverted

_STATISTICS_BATCH_SIZE = 1024


def check_memory_of_batch(task: Task, batch_size: int) -> None:
    """Raise ConfigError if the inputs of one batch, at 32 bits each, exceed the free memory."""
    values = sum(math.prod(size or 1 for size in each.shape) for each in task.inputs.values())
    needed, free = 4 * values * batch_size, free_memory()
    if needed > free:
        raise ConfigError(
            f"--batch-size {batch_size} needs {size_text(needed)} for the inputs of a batch, and "
            f"{size_text(free)} are free; choose a smaller one"
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BatchChanges:
    """Changes to training batches of (inputs, target) or (inputs, target, weight).

    Attributes:
        label_smoothing: Share of each label that is spread evenly over all classes.
        class_weights: Weight of each class in the loss; empty for none.
    """

    label_smoothing: float = 0.0
    class_weights: Sequence[float] = ()

    def function(self, task: Task) -> Callable[..., tuple[Any, ...]]:
        """Return the function that changes a batch."""

        def change(inputs: Any, target: Any, *weights: Any) -> tuple[Any, ...]:
            changed = target
            if self.class_weights:
                of_records = weights[0] if weights else tf.ones(tf.shape(target)[:1])
                by_class = tf.constant(self.class_weights, tf.float32)
                changed, weight = task.goal.weighted(target, of_records, by_class)
                weights = (weight,)
            if self.label_smoothing:
                changed = task.goal.smoothed(task.goal.shares(target), self.label_smoothing)
            return inputs, changed, *weights

        return change


def with_statistics(task: Task, dataset: Dataset, split: str, say: Callable[[str], None]) -> Task:
    """Return the task with the statistics of its inputs and target in the train split.

    Uses the dataset's statistics.json; computing what it does not state takes one pass.

    Raises:
        ConfigError: Models cannot learn from a value in the split.
    """
    parts: list[Input | Target] = [*task.inputs.values(), task.goal]
    statistics = {
        each.name: statistic for each in parts if (statistic := each.statistic()) is not None
    }
    stated = dataset.statistics(split) if statistics else {}
    missing = {
        name: each for name, each in statistics.items() if not each.take(stated.get(name, {}))
    }
    if missing:
        say(f"reading {split!r} once for statistics of {listed([*missing])}")
        _read_statistics(missing, dataset, split)

    def learned(part: Any) -> Any:
        values = statistics[part.name].result() if part.name in statistics else {}
        return dataclasses.replace(part, **values)

    inputs = {name: learned(each) for name, each in task.inputs.items()}
    return dataclasses.replace(task, inputs=inputs, goal=learned(task.goal))


def _read_statistics(statistics: Mapping[str, Statistic], dataset: Dataset, split: str) -> None:
    batches = dataset.batches(
        split, batch_size=_STATISTICS_BATCH_SIZE, features=list(statistics), ragged=True
    )
    for batch in batches:
        for name, statistic in statistics.items():
            values = batch[name]
            is_ragged = isinstance(values, tf.RaggedTensor)
            statistic.add((values.flat_values if is_ragged else values).numpy())


@unconverted
def training_batches(
    task: Task,
    dataset: Dataset,
    split: str,
    *,
    batch_size: int,
    seed: int,
    window: int | None = None,
    group: int | None = None,
    first_record: int = 0,
    worker: int = 0,
    num_workers: int = 1,
    changes: BatchChanges | None = None,
    augment: Augment | None = None,
    cache: ImageCache | str = "none",
) -> tf.data.Dataset:
    """Return endless full batches of (inputs, target) or (inputs, target, weight), shuffled.

    Args:
        task, dataset, split: The task and its training data.
        batch_size: Global batch size.
        seed: Seed of the order and of augmentation.
        window: Number of records that are shuffled together.
        group: Number of shards that are shuffled together.
        first_record: Number of records already used; a multiple of the batch size.
        worker, num_workers, cache: As for `Dataset.batches`.
        changes: Changes to the batches; None for none.
        augment: The user's function of an image and a seed, applied after the task's.
    """
    arranged = dataset.batches(
        split,
        batch_size=batch_size,
        features=task.training_features,
        shuffle=True,
        seed=seed,
        shuffle_buffer=window,
        shuffle_shards=group,
        repeat=True,
        first_record=first_record,
        worker=worker,
        num_workers=num_workers,
        drop_remainder=True,
        augment=augmentation_of(task, augment),
        cache=cache,
        prepare=task.host_step(),
        **decoding_arguments(task) | {"views": task.augmentation.views},
    )
    if changes is None or changes == BatchChanges():
        return arranged
    changed = arranged.map(changes.function(task), num_parallel_calls=tf.data.AUTOTUNE)
    return changed.prefetch(tf.data.AUTOTUNE)


def augmentation_of(task: Task, own: Augment | None) -> Augment | None:
    """Compose the task's and the user's functions of an image and a seed; None without both."""
    users = None if own is None else converted(own)
    chosen = [each for each in (task.augmentation.pixels, users) if each is not None]
    if not chosen:
        return None

    @unconverted
    def augment(image: Tensor, seed: Tensor) -> Tensor:
        for place, function in enumerate(chosen):
            own = tf.random.experimental.stateless_fold_in(seed, place) if place else seed
            image = function(image, own)
        return image

    return augment


@unconverted
def evaluation_batches(
    task: Task,
    dataset: Dataset,
    split: str,
    *,
    batch_size: int,
    worker: int = 0,
    num_workers: int = 1,
    cache: ImageCache | str = "none",
) -> tf.data.Dataset:
    """Return one pass of (inputs, target), without weights.

    With several workers, each gets a part of every batch, so all have equally many batches; a part
    of the last batch may be empty.

    Raises:
        ConfigError: The split has no records.
    """
    num_records = dataset.num_records(split)
    if not num_records:
        raise ConfigError(f"split {split!r} has no records to evaluate on; choose another")
    batches = dataset.batches(
        split,
        batch_size=batch_size,
        features=task.features,
        repeat=num_workers > 1,
        worker=worker,
        num_workers=num_workers,
        cache=cache,
        prepare=task.host_step(),
        **decoding_arguments(task, with_target=False),  # metrics count all boxes
    )
    if num_workers == 1:
        return batches
    size = batch_size // num_workers

    def of_this_pass(number: Tensor, batch: Any) -> Any:
        left = num_records - number * batch_size - worker * size
        return tf.nest.map_structure(
            lambda values: values[: tf.clip_by_value(left, 0, size)], batch
        )

    shared = batches.take(-(-num_records // batch_size)).enumerate()
    return shared.map(of_this_pass, num_parallel_calls=tf.data.AUTOTUNE)


@unconverted
def prediction_batches(
    task: Task, dataset: Dataset, split: str, *, batch_size: int, others: Sequence[str] = ()
) -> tf.data.Dataset:
    """Return one pass of (inputs, `Task.windows`, {other names: [b, …]}), in file order."""
    names = [each.name for each in task.inputs.values()]
    step = task.inputs_step()
    return dataset.batches(
        split,
        batch_size=batch_size,
        features=[*names, *others],
        prepare=lambda columns: (
            step(columns),
            task.windows(columns),
            {name: columns[name] for name in others},
        ),
        **decoding_arguments(task, with_target=False),
    )


def decoding_arguments(task: Task, *, with_target: bool = True) -> dict[str, Any]:
    """Return the arguments of `Dataset.batches` for decoding and padding."""
    inputs = task.inputs.values()
    lengths = {each.name: each.pad_to for each in inputs if each.pad_to is not None}
    if with_target and task.goal.pad_to is not None:
        lengths[task.target] = task.goal.pad_to
    names = ("image_size", "image_dtype", "views", "audio_mono", "audio_sample_rates")
    return {
        **{name: getattr(task.decoding, name) for name in names},
        "masks": False,
        "pad": lengths,
        "truncate": bool(lengths),
        "padding_value": {each.name: each.padding for each in inputs if each.padding is not None},
    }


BALANCED, EQUAL, OVERSAMPLE = "balanced", "none", "oversample"
_COUNTING_BATCH_SIZE = 64


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
                "balanced, none, oversample, or weights such as WBC=2,RBC=0.5"
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
    """Count records (for maps, pixels) by class, as `class_counts` or else in one pass."""
    counted = class_counts(task, dataset, split)
    if counted is not None:
        return [counted[name] for name in task.classes]
    batches = dataset.batches(
        split,
        batch_size=_COUNTING_BATCH_SIZE,
        features=[task.target],
        prepare=unconverted(task.goal.host_step()),
        **decoding_arguments(task),
    )
    size = len(task.classes)
    counts = np.zeros(size, np.int64)
    for numbers in batches.as_numpy_iterator():
        counts += np.bincount(numbers[numbers < size], minlength=size)
    return counts.tolist()
