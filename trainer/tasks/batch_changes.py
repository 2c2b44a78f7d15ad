"""Changes of batches during training only: smoothed and weighted classes."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from trainer.tasks.task import Task


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
