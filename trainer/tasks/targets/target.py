"""The interface of targets: all that depends on what is predicted, one kind in one module."""

import abc
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer.augmentation import PLACES_POLICIES, POLICIES, Augmentation
from trainer.errors import ConfigError
from trainer.options.train import USUAL_LEARNING_RATE, TrainConfig
from trainer.parsing import Tensors
from trainer.tasks.image_sizes import default_size
from trainer.tasks.inputs import Input, encode, keras_inputs, single_or_dict
from trainer.tasks.inputs.base import Part
from trainer.tasks.inputs.image import only_image
from trainer.tensors import checked

# (target, outputs of the model) -> one value per example, float32 [b].
PerExample = Callable[[Any, Any], Any]
_SIDES = frozenset({"left", "right", "l", "r", "east", "west", "clockwise", "counterclockwise"})


def have_sides(classes: Iterable[str]) -> bool:
    """Whether a mirror turns a class into another one: left into right, and the like."""
    words = (re.split(r"[\W_]+", each.lower()) for each in classes)
    return not all(map(_SIDES.isdisjoint, words))


def of_classes(name: str, numbers: Any, is_wrong: Any, classes: Sequence[str], stored: Any) -> Any:
    """Class numbers [b, …], which fail if one `is_wrong`, with the value that is `stored` there.

    On a GPU, wrong ones would silently become NaN.
    """
    message = (
        f"{name} of a record is not one of the {len(classes)} classes (-1: it has none); leave "
        "such records out of the dataset."
    )
    return checked(numbers, tf.boolean_mask(stored, is_wrong), message)


class Target(Part):
    """The feature to predict: which features suit, loss, metrics; `targets.results` shows it.

    Commands that apply to some targets only look at the attributes from `leader` on, never at the
    class.

    Attributes:
        learns: The value of `--task` that gives this target.
        metrics: By name; each is a mean over examples.
        best_by: The metric that tells the best validation.
        learning_rate: Peak learning rate of the plan, from random weights.
        num_steps: Steps of the plan for small datasets.
        leader: The group of the only input that is taken by default; None for any.
        has_one_class: Whether a record has one class, whose number `host_step` returns.
        excludes_classes: Whether one class at a place excludes the others. Then `--class-weights`
            suits (see `weighted`), and of a single class there is nothing to predict.
        takes_shares: Whether classes can be smoothed: see `shares`.
        makes_maps: Whether predictions are maps.
        needs_image: Whether results need the encoded image of the record.
        least_score: The metric that says from which score on what is predicted is shown; or None,
            where there are no scores.
        policies: What `--augment` does to images, by name.
        keeps_aspect: Whether images keep their aspect in the model's size, on grey.
        classes: Names by number; empty if the target is numbers.
    """

    __slots__ = ()

    learns: ClassVar[str]
    metrics: ClassVar[Mapping[str, PerExample]]
    best_by: ClassVar[str] = "loss"
    learning_rate: ClassVar[float] = USUAL_LEARNING_RATE
    num_steps: ClassVar[int] = 2_000
    leader: ClassVar[str | None] = None
    has_one_class: ClassVar[bool] = False
    excludes_classes: ClassVar[bool] = False
    takes_shares: ClassVar[bool] = False
    makes_maps: ClassVar[bool] = False
    needs_image: ClassVar[bool] = False
    policies: ClassVar[Mapping[str, Augmentation]] = POLICIES
    least_score: ClassVar[str | None] = None
    keeps_aspect: ClassVar[bool] = False
    classes: tuple[str, ...] = ()

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature) -> Self:
        """The target for `feature`, without statistics."""

    def check(self, suits: bool, needs: str) -> None:
        """Raise ConfigError unless `suits`; `needs` is "--label-smoothing needs classes"."""
        if not suits:
            raise ConfigError(
                f"{needs}, but the target {self.name!r} is {self.in_words}; leave it out"
            )

    def task_name(self, groups: Sequence[str]) -> str:
        """The name of the task on inputs of these groups."""
        return self.learns

    def image_size(self, stated: ImageSize | None, values: Callable[[], Any]) -> ImageSize | None:
        """The size at which images are best shown to the model; None for the usual one.

        `stated` is that of all images; `values` reads stored targets of some records, [n, …].
        """
        return None

    def default_augment(self, inputs: Sequence[Input]) -> str:
        """Which of `policies` images of these inputs take unless an option names one."""
        return "none"

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """Of the model's output for one record, which is float32."""

    def with_inputs(self, inputs: Sequence[Input], options: TrainConfig) -> Self:
        """The target where it depends on the inputs, as boxes do on the size of the image.

        Raises:
            ConfigError: It cannot be predicted from these inputs.
        """
        return self

    @abc.abstractmethod
    def host_step(self) -> Callable[[Tensors], Any]:
        """The function in the input pipeline from parsed columns to the target for `loss`.

        It fails on unsuitable values.
        """

    def number_of(self, stored: Any) -> int:
        """The number of a record's class, as it is stored, if it `has_one_class`; -1 of none."""
        raise NotImplementedError

    def with_totals(self, target: Any) -> Any:
        """A replica's target, with what `loss` needs of the whole global batch."""
        return target

    def weighted(self, target: Any, weights: Any, class_weights: Any) -> tuple[Any, Any]:
        """The target for `loss` and the records' weights [b], from the weights of records and
        classes, if it `excludes_classes`.
        """
        raise NotImplementedError

    def shares(self, target: Any) -> Any:
        """The target as shares of the classes, float32 [b, classes], if it `takes_shares`."""
        raise NotImplementedError

    def smoothed(self, shares: Any, amount: float) -> Any:
        """Shares of which `amount` is given to all classes alike, if it `takes_shares`."""
        raise NotImplementedError

    @abc.abstractmethod
    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""

    def model(self, inputs: Mapping[str, Input], name: str) -> keras.Model:
        """The built-in model: a branch for each input, and `head` on what they say together."""
        tensors = keras_inputs(inputs)
        outputs = self.head(encode(inputs, tensors))
        return keras.Model(single_or_dict(tensors), outputs, name=name)

    def head(self, x: Any) -> Any:
        """The last layers of `model`: from one vector per record to its outputs, float32."""
        raise NotImplementedError

    @abc.abstractmethod
    def predict(self, outputs: Any) -> dict[str, Any]:
        """What the model's outputs say, by name: tensors of numbers [b, …]."""

    def decode(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        """What is predicted for records, in one graph for rows and exported models: [b, …].

        `windows` float32 [b, 4] is what the model sees of each image, if images keep their aspect.
        """
        return self.predict(outputs)

    def export(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        """What an exported model returns: `decode`, and what its clients need in addition."""
        return self.decode(outputs, windows)

    def export_numbers(self, outputs: Any) -> dict[str, Any]:
        """What models for runtimes without strings return: the numbers of `export`."""
        exported = self.export(outputs).items()
        return {name: each for name, each in exported if each.dtype.name != "string"}


class PlacesTarget(Target):
    """What is learned of all places in one image: boxes, maps."""

    __slots__ = ()

    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType({})
    num_steps: ClassVar[int] = 500  # each learns of many places
    leader: ClassVar[str | None] = "image"
    needs_image: ClassVar[bool] = True
    policies: ClassVar[Mapping[str, Augmentation]] = PLACES_POLICIES
    step: ClassVar[int]
    height: int
    width: int

    def image_size(self, stated: ImageSize | None, values: Callable[[], Any]) -> ImageSize | None:
        return default_size(stated, self.step)

    def default_augment(self, inputs: Sequence[Input]) -> str:
        return "none" if have_sides(self.classes) else "flip"

    def with_inputs(self, inputs: Sequence[Input], options: TrainConfig) -> Self:
        image = only_image(inputs, self.learns)
        sizes = {"height": image.height, "width": image.width}
        return dataclasses.replace(self, **sizes)  # type: ignore[type-var]
