"""The interface of targets, which has everything that depends on the predicted values."""

import abc
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer.augmentation import PLACES_POLICIES, POLICIES, Augmentation
from trainer.errors import ConfigError
from trainer.options.train_options import USUAL_LEARNING_RATE, TrainConfig
from trainer.parsing import Tensors
from trainer.tasks.baselines import Baseline
from trainer.tasks.figures import Accumulator, Arrays, Overlay
from trainer.tasks.inputs import Input
from trainer.tasks.inputs.base import TaskPart
from trainer.tasks.inputs.image import default_size, only_image
from trainer.tensors import checked

# (target, outputs of the model) -> one value per example, float32 [b].
PerExample = Callable[[Any, Any], Any]
# Prediction for one record, ready for JSON.
Row = dict[str, Any]
# Converts the rows of all records to one JSON document.
Document = Callable[[Iterable[Row]], Any]
_SIDES = frozenset({"left", "right", "l", "r", "east", "west", "clockwise", "counterclockwise"})


def by_class(classes: Sequence[str], shares: Any) -> dict[str, float]:
    """Return the shares of classes, an array, by their names."""
    return dict(zip(classes, shares.tolist(), strict=True))


def have_sides(classes: Iterable[str]) -> bool:
    """Whether a flip turns one class into another, such as left into right."""
    words = (re.split(r"[\W_]+", each.lower()) for each in classes)
    return not all(map(_SIDES.isdisjoint, words))


def of_classes(name: str, numbers: Any, is_wrong: Any, classes: Sequence[str], stored: Any) -> Any:
    """Return class numbers [b, …], or fail with the `stored` value of one that `is_wrong`.

    On a GPU, wrong numbers would silently become NaN.
    """
    message = (
        f"{name} of a record is not one of the {len(classes)} classes (-1: it has none); leave "
        "such records out of the dataset."
    )
    return checked(numbers, tf.boolean_mask(stored, is_wrong), message)


class Target(TaskPart):
    """The feature to predict, with its loss, metrics, predictions and figures.

    Commands that apply only to some targets check the attributes from `leader` on, never the class.

    Attributes:
        learns: Value of `--task` for this target.
        metrics: Functions of metrics by name, each a mean over examples; names are in METRICS.
        best_by: Metric that ranks validations.
        learning_rate: Peak learning rate of the plan with random weights.
        num_steps: Steps of the plan for small datasets.
        leader: Group of the only input by default; None for any.
        missing: What a record without a target has, which is left out; "" if none may lack it.
        has_one_class: Whether a record has one class, whose number `host_step` returns.
        excludes_classes: Whether one class at a place excludes the others. If so, `--class-weights`
            is supported (see `weighted`), and at least two classes are needed.
        takes_shares: Whether classes can be smoothed: see `shares`.
        is_averaged: Whether outputs of several models can be averaged: see `averaged`.
        makes_maps: Whether predictions are maps.
        needs_image: Whether results need the encoded image of the record.
        least_score: Metric with the score from which predictions are shown; None without scores.
        threshold: Metric with the probability from which the second of two classes is predicted;
            None for other targets.
        policies: Image augmentations by value of `--augment`.
        validation_of_few: Share of few records to hold out for validation.
        keeps_aspect: Whether images keep their aspect in the model's size, on grey.
        classes: Class names by number; empty if the target is numbers.
        documents: Further formats of predictions by name: functions of the rows of all records.
        names_target: Whether the first of `columns` is the target's value.
    """

    __slots__ = ()

    learns: ClassVar[str]
    metrics: ClassVar[Mapping[str, PerExample]]
    best_by: ClassVar[str] = "loss"
    learning_rate: ClassVar[float] = USUAL_LEARNING_RATE
    leader: ClassVar[str | None] = None
    has_one_class: ClassVar[bool] = False
    excludes_classes: ClassVar[bool] = False
    takes_shares: ClassVar[bool] = False
    is_averaged: ClassVar[bool] = False
    makes_maps: ClassVar[bool] = False
    needs_image: ClassVar[bool] = False
    policies: ClassVar[Mapping[str, Augmentation]] = POLICIES
    least_score: ClassVar[str | None] = None
    keeps_aspect: ClassVar[bool] = False
    validation_of_few: ClassVar[float] = 0.1
    documents: ClassVar[Mapping[str, Document]] = MappingProxyType({})
    names_target: ClassVar[bool] = True
    classes: tuple[str, ...] = ()

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature) -> Self:
        """Make the target for `feature`, without statistics."""

    @property
    def missing(self) -> str:
        return ""

    @property
    def threshold(self) -> str | None:
        return None

    @property
    def num_steps(self) -> int:
        return 2_000

    def check(self, suits: bool, needs: str) -> None:
        """Raise ConfigError unless `suits`; `needs` is like "--label-smoothing needs classes"."""
        if not suits:
            raise ConfigError(
                f"{needs}, but the target {self.name!r} is {self.in_words}; leave it out"
            )

    def task_name(self, groups: Sequence[str]) -> str:
        """Return the name of the task with inputs of these groups."""
        return self.learns

    def image_size(self, stated: ImageSize | None, values: Callable[[], Any]) -> ImageSize | None:
        """Return the best size of images in the model's input; None for the default.

        `stated` is the size of all images; `values` reads targets of sampled records, [n, …].
        """
        return None

    def default_augment(self, inputs: Sequence[Input]) -> str:
        """Return the default of `--augment` for these inputs, one of `policies`."""
        return "none"

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the model's output for one record, float32."""

    def with_inputs(self, inputs: Sequence[Input], options: TrainConfig) -> Self:
        """Return the target adapted to the inputs, as boxes are to the image size.

        Raises:
            ConfigError: The target cannot be predicted from these inputs.
        """
        return self

    @abc.abstractmethod
    def host_step(self) -> Callable[[Tensors], Any]:
        """Return the function that converts parsed columns to the target for `loss`.

        It runs in the input pipeline, and fails on unsuitable values.
        """

    def number_of(self, stored: Any) -> int:
        """Return the class number of a stored value, if it `has_one_class`; -1 for none."""
        raise NotImplementedError

    def with_totals(self, target: Any) -> Any:
        """Add the sums over the global batch that `loss` needs to a replica's target."""
        return target

    def weighted(self, target: Any, weights: Any, class_weights: Any) -> tuple[Any, Any]:
        """Return the target for `loss` and the records' weights [b], given those of records and
        classes, if it `excludes_classes`.
        """
        raise NotImplementedError

    def shares(self, target: Any) -> Any:
        """Convert to shares of the classes, float32 [b, classes], if it `takes_shares`."""
        raise NotImplementedError

    def smoothed(self, shares: Any, amount: float) -> Any:
        """Spread `amount` of the shares evenly over all classes, if it `takes_shares`."""
        raise NotImplementedError

    @abc.abstractmethod
    def loss(self, target: Any, outputs: Any) -> Any:
        """Return the loss of each example, float32 [b]."""

    def head(self, x: Any) -> Any:
        """Apply the last layers of a model, from one vector per record to float32 outputs."""
        raise NotImplementedError

    def averaged(self, outputs: Sequence[Any]) -> Any:
        """Return the mean of the outputs of several models, if it `is_averaged`: Keras tensors."""
        raise NotImplementedError

    @abc.abstractmethod
    def predict(self, outputs: Any) -> dict[str, Any]:
        """Convert the model's outputs to predictions by name: tensors of numbers [b, …]."""

    def decode(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        """Decode predictions in one graph, shared by rows and exported models: [b, …].

        `windows`, float32 [b, 4], is the part of each image in the model's input, if images keep
        their aspect.
        """
        return self.predict(outputs)

    def export(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        """Return the outputs of an exported model: `decode`, and additions for its clients."""
        return self.decode(outputs, windows)

    def export_numbers(self, outputs: Any) -> dict[str, Any]:
        """Return the outputs for runtimes without strings: the numbers of `export`."""
        exported = self.export(outputs).items()
        return {name: each for name, each in exported if each.dtype.name != "string"}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `lines`."""
        return ("prediction",)

    @abc.abstractmethod
    def row(self, decoded: Arrays, image: bytes | None, least: float) -> Row:
        """Return the prediction for one record, ready for JSON, without scores below `least`.

        With two classes, the second is predicted from this probability on, or from 0.5 if it is 0.
        `decoded` has NumPy arrays from `decode`; `image` is encoded, if the target `needs_image`.
        """

    def lines(self, row: Row) -> list[list[Any]]:
        """Return a record's lines of a CSV file, without the source."""
        return [[row["prediction"]]]

    def draw(self, row: Row, decoded: Arrays, image: Any) -> Any:
        """Draw predictions on a Pillow image in RGB, perhaps in place, and return it."""
        raise NotImplementedError

    def map_of(self, row: Row, decoded: Arrays) -> Any:
        """Return the map of classes as a Pillow image, if the target `makes_maps`."""
        raise NotImplementedError

    @abc.abstractmethod
    def shown(self, target: Any) -> tuple[str, Overlay]:
        """Return one record's target, perhaps smoothed or weighted, as text and as an overlay."""

    @abc.abstractmethod
    def accumulators(self) -> list[Accumulator]:
        """Return new metrics over whole splits, in addition to `metrics`; at least one."""

    @abc.abstractmethod
    def baseline(self) -> Baseline:
        """Return a new metric of a trivial guess."""


class PlacesTarget(Target):
    """A target at all places of one image: boxes, maps."""

    __slots__ = ()

    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType({})
    leader: ClassVar[str | None] = "image"
    names_target: ClassVar[bool] = False
    needs_image: ClassVar[bool] = True
    policies: ClassVar[Mapping[str, Augmentation]] = PLACES_POLICIES
    step: ClassVar[int]
    height: int
    width: int

    @property
    def num_steps(self) -> int:
        return 500  # each covers many places

    def image_size(self, stated: ImageSize | None, values: Callable[[], Any]) -> ImageSize | None:
        return default_size(stated, self.step)

    def default_augment(self, inputs: Sequence[Input]) -> str:
        return "none" if have_sides(self.classes) else "flip"

    def with_inputs(self, inputs: Sequence[Input], options: TrainConfig) -> Self:
        image = only_image(inputs, self.learns)
        sizes = {"height": image.height, "width": image.width}
        return dataclasses.replace(self, **sizes)  # type: ignore[type-var]
