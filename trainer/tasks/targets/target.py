"""What a target is: the feature to learn."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import keras

from trainer.features import Feature
from trainer.tasks.learners import Learner

# (target, the model's outputs) -> one value an example, float32 [b].
PerExample = Callable[[Any, Any], Any]


class Target(abc.ABC):
    """The feature to learn, and how far the model's outputs are from it.

    Subclasses are dataclasses. What is learned of the train split has no part in comparing
    them: equal ones are learned from the same records.

    Attributes:
        kind: In task.json.
        metrics: By name; each is a mean over examples.
        name: The feature's.
        classes: Names by number; empty where numbers are learned.
    """

    __slots__ = ()

    kind: ClassVar[str]
    metrics: ClassVar[Mapping[str, PerExample]]
    name: str
    classes: tuple[str, ...]

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature) -> Self:
        """The target that `feature` is, with nothing learned yet."""

    @property
    @abc.abstractmethod
    def in_words(self) -> str:
        """What it is, without what was learned: "one class a record, by number"."""

    @property
    @abc.abstractmethod
    def num_outputs(self) -> int:
        """Of the model: it yields [b, num_outputs]."""

    def learner(self) -> Learner[Self] | None:
        """What looks at the train split before training; None where nothing is to learn."""
        return None

    @abc.abstractmethod
    def host_step(self) -> Callable[[Any], Any]:
        """The function from what is read to what `loss` takes, run in the input pipeline.

        It fails on values that cannot be learned from.
        """

    @abc.abstractmethod
    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""

    @abc.abstractmethod
    def head(self, x: Any) -> Any:
        """The model's last layers: a Keras tensor, float32 always, from a vector a record."""


def logits(x: Any, num_outputs: int) -> Any:
    """A linear layer, in float32 under any policy."""
    return keras.layers.Dense(num_outputs, dtype="float32", name="logits")(x)
