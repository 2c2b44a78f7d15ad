"""Reads the data of a task: once before training for statistics, then batch after batch."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import tensorflow as tf

from tfrecord_dataset.shown_text import size_text
from trainer.autograph import converted, unconverted
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.image_cache import ImageCache, free_memory
from trainer.parsing import Augment
from trainer.tasks.choice import shorten
from trainer.tasks.inputs import Input
from trainer.tasks.statistics import Statistic
from trainer.tasks.targets import Target
from trainer.tasks.task import Task
from trainer.tensors import Tensor

_Part = TypeVar("_Part", Input, Target)

_STATISTICS_BATCH_SIZE = 1024


def check_memory_of_batch(task: Task, batch_size: int) -> None:
    """Raise ConfigError if the inputs of one batch, in 32 bits, exceed the free memory."""
    values = sum(math.prod(size or 1 for size in each.shape) for each in task.inputs.values())
    needed, free = 4 * values * batch_size, free_memory()
    if needed > free:
        raise ConfigError(
            f"--batch-size {batch_size} needs {size_text(needed)} for the inputs of a batch, and "
            f"{size_text(free)} are free; choose a smaller one"
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BatchChanges:
    """What happens to batches of (inputs, target, and weight if there is one).

    Attributes:
        label_smoothing: The share of the loss that is given to all classes alike.
        class_weights: The weight of each class in the loss; empty for none.
    """

    label_smoothing: float = 0.0
    class_weights: Sequence[float] = ()

    def function(self, task: Task) -> Callable[..., tuple[Any, ...]]:
        """The function (inputs, target, and weight if there is one) to the same."""

        def change(inputs: Any, target: Any, *weights: Any) -> tuple[Any, ...]:
            shares = task.goal.shares(target) if self.label_smoothing else None
            if self.class_weights:
                of_records = weights[0] if weights else tf.ones(tf.shape(target)[:1])
                by_class = tf.constant(self.class_weights, tf.float32)
                target, weight = task.goal.weighted(target, of_records, by_class)
                weights = (weight,)
            if shares is not None:
                target = task.goal.smoothed(shares, self.label_smoothing)
            return inputs, target, *weights

        return change


def with_statistics(task: Task, dataset: Dataset, split: str, say: Callable[[str], None]) -> Task:
    """The task, with the statistics of its inputs and target over the train split.

    They are those of the dataset's statistics.json; what it does not state takes one pass.

    Raises:
        ConfigError: Models cannot learn from some value in the split.
    """
    parts: list[Input | Target] = [*task.inputs.values(), task.goal]
    statistics = {
        each.name: statistic for each in parts if (statistic := each.statistic()) is not None
    }
    stated = dataset.statistics(split) if statistics else {}
    missing = {
        name: statistic
        for name, statistic in statistics.items()
        if not statistic.take(stated.get(name, {}))
    }
    if missing:
        say(f"reading {split!r} once for statistics of {shorten([*missing])}")
        _read_statistics(missing, dataset, split)

    def learned(part: _Part) -> _Part:
        learned_values = statistics[part.name].result() if part.name in statistics else {}
        return dataclasses.replace(part, **learned_values)  # type: ignore[type-var]

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
    first_record: int = 0,
    worker: int = 0,
    num_workers: int = 1,
    changes: BatchChanges | None = None,
    augment: Augment | None = None,
    cache: ImageCache | str = "none",
) -> tf.data.Dataset:
    """Endless full batches of (inputs, target), or (inputs, target, weight), shuffled.

    Args:
        task: What is trained.
        dataset: The records.
        split: To train on.
        batch_size: Of the global batch.
        seed: Decides the order and what is drawn.
        window: Records that are permuted together.
        first_record: Records used before: whole batches.
        worker, num_workers: As for `Dataset.batches`.
        changes: Of the batches; None for none.
        augment: The user's own function of an image and a seed, after the task's.
        cache: As for `Dataset.batches`.
    """
    arranged = dataset.batches(
        split,
        batch_size=batch_size,
        features=task.training_features,
        shuffle=True,
        seed=seed,
        shuffle_buffer=window,
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
    """The task's function of an image and a seed, then the user's own; None where there is none."""
    users = None if own is None else converted(own)
    chosen = [each for each in (task.augmentation.pixels, users) if each is not None]
    if not chosen:
        return None

    @unconverted
    def augment(image: Tensor, seed: Tensor) -> Tensor:
        for place, function in enumerate(chosen):
            own = seed if not place else tf.random.experimental.stateless_fold_in(seed, place)
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
    """One pass of (inputs, target), without weights.

    Of several workers, each has its part of every batch, and as many batches as all others: of the
    last one it may have no record.
    """
    batches = dataset.batches(
        split,
        batch_size=batch_size,
        features=task.features,
        repeat=num_workers > 1,
        worker=worker,
        num_workers=num_workers,
        cache=cache,
        prepare=task.host_step(),
        **decoding_arguments(task),
    )
    if num_workers == 1:
        return batches
    num_records, size = dataset.num_records(split), batch_size // num_workers

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
    """One pass of (inputs, windows, {name: [b, …] for the others}), in the order of the files.

    Windows are those of `Task.windows`.
    """
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
    """The arguments of `Dataset.batches` on how records are decoded and padded."""
    inputs, decoding = task.inputs.values(), task.decoding
    lengths = {each.name: each.pad_to for each in inputs if each.pad_to is not None}
    if with_target and task.goal.pad_to is not None:
        lengths[task.target] = task.goal.pad_to
    return {
        "image_size": decoding.image_size,
        "image_dtype": decoding.image_dtype,
        "views": decoding.views,
        "audio_mono": decoding.audio_mono,
        "audio_sample_rates": decoding.audio_sample_rates,
        "masks": False,
        "pad": lengths,
        "truncate": bool(lengths),
        "padding_value": {each.name: each.padding for each in inputs if each.padding is not None},
    }
