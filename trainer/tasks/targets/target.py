"""The interface of targets: the feature to predict."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import keras

from tfrecord_dataset.feature import Feature
from trainer.tasks.accumulators import Accumulator
from trainer.tasks.inputs import Input, Settings
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
    def outputs(self) -> tuple[str, ...]:
        """The outputs of `Dataset.batches` that are the target; several come as a dict."""
        return (self.name,)

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """Of the model's output for one record, which is float32."""

    @property
    def pad_to(self) -> int | None:
        """The length to which records are padded or cut; None for the longest in the batch."""
        return None

    def with_inputs(self, inputs: Sequence[Input], settings: Settings) -> Self:
        """The target where it depends on the inputs, as boxes do on the size of the image.

        Raises:
            ConfigError: It cannot be predicted from these inputs.
        """
        del inputs, settings
        return self

    def learner(self) -> Learner[Self] | None:
        """Computes the statistics of the train split; None if none are needed."""
        return None

    @abc.abstractmethod
    def host_step(self) -> Callable[[Any], Any]:
        """The function that prepares the target for `loss` in the input pipeline.

        It fails on unsuitable values.
        """

    def with_totals(self, target: Any) -> Any:
        """The target with what its loss needs of the whole global batch.

        It is called on a replica's batch, of which `loss` then may get parts.
        """
        return target

    def shares(self, target: Any) -> Any:
        """The target as shares of the classes, float32 [b, classes], which `loss` takes, too.

        Raises:
            NotImplementedError: It has none; `takes_shares` says so.
        """
        raise NotImplementedError

    def smoothed(self, shares: Any, amount: float) -> Any:
        """Shares of which `amount` is given to what is wrong and right alike."""
        raise NotImplementedError

    @property
    def takes_shares(self) -> bool:
        """Whether records can be mixed, and their classes smoothed."""
        return False

    @abc.abstractmethod
    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""

    @abc.abstractmethod
    def head(self, x: Any) -> Any:
        """The model's last layers: from one vector per record to a Keras tensor, always float32."""

    def model(self, inputs: Sequence[Input], name: str) -> keras.Model | None:
        """The built-in model, for targets that need more than one vector; None for the others."""
        del inputs, name
        return None

    @abc.abstractmethod
    def predict(self, outputs: Any) -> dict[str, Any]:
        """What the model's outputs say, by name: tensors [b, …]."""

    def accumulators(self) -> list[Accumulator]:
        """New metrics over whole splits, besides `metrics`."""
        return []


def logits(x: Any, num_outputs: int) -> Any:
    """A linear layer, in float32 under any policy."""
    return keras.layers.Dense(num_outputs, dtype="float32", name="logits")(x)
