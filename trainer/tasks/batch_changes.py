"""What happens to batches in training alone: mixtures, smoothed and weighted classes."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from trainer.augmentation.mixing import Mixtures, draw_mixtures, mix
from trainer.errors import ConfigError
from trainer.tasks.task import Task


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BatchChanges:
    """What happens to batches of (inputs, target, and weight if there is one).

    Attributes:
        label_smoothing: The share of the loss that is given to all classes alike.
        mixup, cutmix: How records are mixed: see `draw_mixtures`.
        class_weights: The weight of each class in the loss; empty for none.
    """

    label_smoothing: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0
    class_weights: Sequence[float] = ()

    @property
    def mixes(self) -> bool:
        """Whether records are mixed."""
        return self.mixup > 0 or self.cutmix > 0

    def check(self, task: Task, batch_size: int, num_workers: int) -> None:
        """Raises ConfigError if a task or a batch cannot be changed like this.

        Args:
            task: What is trained.
            batch_size: Of the global batch.
            num_workers: That share it.
        """
        named = {
            "--label-smoothing": self.label_smoothing,
            "--mixup": self.mixup,
            "--cutmix": self.cutmix,
        }
        chosen = [name for name, value in named.items() if value]
        for name in chosen:
            task.goal.check(task.goal.takes_shares, f"{name} needs classes")
        if not self.mixes:
            return
        groups = [each.group for each in task.inputs.values()]
        if groups != ["image"]:
            raise ConfigError(
                f"{chosen[-1]} mixes images, but the inputs are "
                f"{', '.join(each.name for each in task.inputs.values())}; leave it out, or name "
                "one image by --inputs"
            )
        if batch_size % (2 * num_workers):
            workers = f" on each of {num_workers} workers" if num_workers > 1 else ""
            raise ConfigError(
                f"{chosen[-1]} mixes pairs of records, but --batch-size {batch_size} is not a "
                f"multiple of 2{workers}; use a multiple of {2 * num_workers}"
            )

    def function(
        self, task: Task, *, seed: int, batch_size: int, worker: int, num_workers: int
    ) -> Callable[..., tuple[Any, ...]]:
        """The function (step, inputs, target, and weight if there is one) to the same.

        It changes one worker's part of the global batch of a step.
        """
        pairs = batch_size // num_workers // 2
        part = slice(worker * pairs, (worker + 1) * pairs)

        def change(step: Any, inputs: Any, target: Any, *weights: Any) -> tuple[Any, ...]:
            softens = self.mixes or self.label_smoothing > 0
            shares = task.goal.shares(target) if softens else None
            if self.class_weights:
                of_records = weights[0] if weights else tf.ones(tf.shape(target)[:1])
                by_class = tf.constant(self.class_weights, tf.float32)
                target, weight = task.goal.weighted(target, of_records, by_class)
                weights = (weight,)
            if shares is None:
                return inputs, target, *weights
            if self.mixes:
                drawn = draw_mixtures(self.mixup, self.cutmix, seed, step, batch_size // 2)
                own = Mixtures(*(each[part] for each in drawn))
                weight = weights[0] if weights else tf.ones(tf.shape(shares)[:1])
                ((name, image),) = inputs.items()
                image, shares, weight = mix(own, image, shares, weight)
                inputs = {name: image}
                weights = (weight,) if weights else ()
            return inputs, task.goal.smoothed(shares, self.label_smoothing), *weights

        return change
