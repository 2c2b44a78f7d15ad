"""The interface of targets: the feature to predict."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import keras

from trainer.features import Feature
from trainer.tasks.learners import Learner

# (target, outputs of the model) -> one value per example, float32 [b].
PerExample = Callable[[Any, Any], Any]


class Target(abc.ABC):
    """The feature to predict, with its loss and metrics.

    Subclasses are dataclasses. Statistics of the train split are not compared: equal targets
    take the same records.

    Attributes:
        kind: In task.json.
        metrics: By name; each is a mean over examples.
        name: The feature's.
        classes: Names by number; empty if the target is numbers.
    """

    __slots__ = ()

    kind: ClassVar[str]
    metrics: ClassVar[Mapping[str, PerExample]]
    name: str
    classes: tuple[str, ...]

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature) -> Self:
        """The target for `feature`, without statistics."""

    @property
    @abc.abstractmethod
    def in_words(self) -> str:
        """For messages: "one class per record, by number"."""

    @property
    @abc.abstractmethod
    def num_outputs(self) -> int:
        """Of the model, which returns [b, num_outputs]."""

    def learner(self) -> Learner[Self] | None:
        """Computes the statistics of the train split; None if none are needed."""
        return None

    @abc.abstractmethod
    def host_step(self) -> Callable[[Any], Any]:
        """The function that prepares the target for `loss` in the input pipeline.

        It fails on unsuitable values.
        """

    @abc.abstractmethod
    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""

    @abc.abstractmethod
    def head(self, x: Any) -> Any:
        """The model's last layers: from one vector per record to a Keras tensor, always float32."""


def logits(x: Any, num_outputs: int) -> Any:
    """A linear layer, in float32 under any policy."""
    return keras.layers.Dense(num_outputs, dtype="float32", name="logits")(x)
