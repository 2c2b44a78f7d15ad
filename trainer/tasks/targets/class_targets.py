"""Classes as the target: one or any number per record."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from tfrecord_dataset.format.feature import STRINGS, Feature
from trainer.parsing import Tensors
from trainer.task_kinds import CLASSIFICATION
from trainer.tasks.baselines import Baseline, FrequentClasses, MostFrequent
from trainer.tasks.figures import THRESHOLD, Accumulator, Arrays, ClassFigures, Overlay
from trainer.tasks.inputs import LEADERS, ImageInput, Input
from trainer.tasks.inputs.base import not_compared
from trainer.tasks.statistics import MAX_CLASSES, Largest, Statistic, Strings
from trainer.tasks.targets.target import (
    PerExample,
    Row,
    Target,
    by_class,
    have_sides,
    of_classes,
)
from trainer.tensors import checked

_LEAST_PROBABILITY = 1e-30  # has a logarithm in float32
_MOST_SHOWN = 5  # classes of a record in messages


def is_correct(target: Any, outputs: Any) -> Any:
    """1.0 if the largest logit is the target's, else 0.0: [b].

    If the target is shares, the largest one counts.
    """
    if len(target.shape) == 2:
        target = tf.argmax(target, axis=-1)
    return keras.metrics.sparse_categorical_accuracy(target, outputs)


def f1(target: Any, outputs: Any) -> Any:
    """Harmonic mean of precision and recall of each record's classes: [b].

    A class is predicted if its logit is above 0. The result is 1 if a record has no class and
    none is predicted.
    """
    predicted, target = tf.cast(outputs > 0, tf.float32), tf.cast(target > 0.5, tf.float32)
    both = tf.reduce_sum(target * predicted, axis=-1)
    all_of_them = tf.reduce_sum(target + predicted, axis=-1)
    return tf.where(all_of_them > 0, 2 * both / tf.maximum(all_of_them, 1.0), 1.0)


def is_exact(target: Any, outputs: Any) -> Any:
    """1.0 if the classes with logits above 0 are exactly the record's, else 0.0: [b]."""
    return tf.cast(tf.reduce_all(tf.equal(target > 0.5, outputs > 0), axis=-1), tf.float32)


def _logarithm(probabilities: Any) -> Any:
    return keras.ops.log(keras.ops.maximum(probabilities, _LEAST_PROBABILITY))


class _Classes(Target):
    """Classes with one logit each, which can be smoothed."""

    __slots__ = ()

    learns: ClassVar[str] = CLASSIFICATION
    takes_shares: ClassVar[bool] = True
    is_averaged: ClassVar[bool] = True

    def default_augment(self, inputs: Sequence[Input]) -> str:
        """Flip colour images, unless classes are characters, or differ by left and right."""
        are_colored = [isinstance(each, ImageInput) and each.channels == 3 for each in inputs]
        has_signs = not self.classes or any(map(_is_sign, self.classes))
        is_mirrored = are_colored == [True] and not has_signs and not have_sides(self.classes)
        return "flip" if is_mirrored else "none"

    def task_name(self, groups: Sequence[str]) -> str:
        if "image" in groups:
            return "image_metadata" if len(groups) > 1 else "classification"
        leader = next((each for each in LEADERS if each in groups), "tabular")
        return f"{leader}_classification"

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (len(self.classes),)

    def head(self, x: Any) -> Any:  # in float32 under any policy
        return keras.layers.Dense(len(self.classes), dtype="float32", name="logits")(x)

    def export(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        names = tf.broadcast_to(tf.constant(self.classes), tf.shape(outputs))
        return {**self.decode(outputs), "classes": names}

    def shown(self, target: Any) -> tuple[str, Overlay]:
        if not target.shape:
            return self.classes[int(target)], Overlay()
        named = sorted(zip(target.tolist(), self.classes, strict=True), reverse=True)
        parts = [
            name if share == 1 else f"{name} {share:.2f}" for share, name in named if share > 0
        ]
        return ", ".join(parts[:_MOST_SHOWN]), Overlay()

    def accumulators(self) -> list[Accumulator]:
        return [ClassFigures(self.classes, has_one_class=self.has_one_class)]

    def _numbers(self, remedy: str) -> Statistic | None:
        """Return the statistic that counts classes by their largest number, if not declared."""
        if self.classes:
            return None
        return Largest(self.name, "classes", limit=MAX_CLASSES, remedy=remedy, made=_numbered)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OneClass(_Classes):
    """One class per record, stored as a number or (`is_text`) a name; models return logits.

    `classes` are from the schema, else from the train split: the numbers up to the largest, or all
    distinct strings in order.
    """

    kind: ClassVar[str] = "class"
    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType({"accuracy": is_correct})
    best_by: ClassVar[str] = "accuracy"
    has_one_class: ClassVar[bool] = True
    excludes_classes: ClassVar[bool] = True

    name: str
    is_text: bool = False
    classes: tuple[str, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        kinds = ("class_label", "text", "scalar")
        is_one = feature.kind in kinds and not feature.shape
        return is_one and (feature.kind == "class_label" or not feature.dtype.startswith("float"))

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        return cls(name=feature.name, is_text=feature.dtype in STRINGS, classes=feature.classes)

    @property
    def missing(self) -> str:
        return "an empty text" if self.is_text else ""

    @property
    def threshold(self) -> str | None:
        return THRESHOLD if len(self.classes) == 2 else None

    def statistic(self) -> Statistic | None:
        if self.is_text:
            return None if self.classes else Strings(self.name, "classes")
        return self._numbers("predict a number with --task regression")

    def host_step(self) -> Callable[[Tensors], Any]:
        if self.is_text:
            numbers = tf.range(len(self.classes), dtype=tf.int64)
            pairs = tf.lookup.KeyValueTensorInitializer(tf.constant(self.classes), numbers)
            table = tf.lookup.StaticHashTable(pairs, default_value=-1)

        def check(columns: Tensors) -> Any:
            values = columns[self.name]
            target = table.lookup(values) if self.is_text else values
            is_wrong = (target < 0) | (target >= len(self.classes))
            return of_classes(self.name, target, is_wrong, self.classes, values)

        return check

    def number_of(self, stored: Any) -> int:
        numbers = {name.encode(): number for number, name in enumerate(self.classes)}
        return numbers.get(stored, -1) if self.is_text else int(stored)

    def weighted(self, target: Any, weights: Any, class_weights: Any) -> tuple[Any, Any]:
        return target, weights * tf.gather(class_weights, target)

    def shares(self, target: Any) -> Any:
        return tf.one_hot(target, len(self.classes))

    def smoothed(self, shares: Any, amount: float) -> Any:
        return (1.0 - amount) * shares + amount / len(self.classes)

    def loss(self, target: Any, outputs: Any) -> Any:
        """Cross entropy of class numbers [b] or shares [b, classes], and logits [b, classes]."""
        if len(target.shape) == 2:
            return keras.losses.categorical_crossentropy(target, outputs, from_logits=True)
        return keras.losses.sparse_categorical_crossentropy(target, outputs, from_logits=True)

    def averaged(self, outputs: Sequence[Any]) -> Any:
        return _logarithm(keras.layers.Average()([keras.ops.softmax(each) for each in outputs]))

    def predict(self, outputs: Any) -> dict[str, Any]:
        return {"probabilities": tf.nn.softmax(outputs)}

    def decode(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        probabilities = tf.nn.softmax(outputs)
        return {
            "prediction": tf.gather(tf.constant(self.classes), tf.argmax(probabilities, axis=-1)),
            "probability": tf.reduce_max(probabilities, axis=-1),
            "probabilities": probabilities,
        }

    @property
    def columns(self) -> tuple[str, ...]:
        return ("prediction", "probability")

    def row(self, decoded: Arrays, image: bytes | None, least: float) -> Row:
        probabilities = by_class(self.classes, decoded["probabilities"])
        chosen = decoded["prediction"].decode()
        if least:
            first, second = probabilities
            chosen = second if probabilities[second] >= least else first
        probability = probabilities[chosen]
        return {"prediction": chosen, "probability": probability, "probabilities": probabilities}

    def lines(self, row: Row) -> list[list[Any]]:
        return [[row["prediction"], row["probability"]]]

    def baseline(self) -> Baseline:
        return MostFrequent("accuracy", self.classes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ManyClasses(_Classes):
    """Any number of classes per record, or none; models return one logit per class.

    `classes` are from the schema, else the numbers up to the largest in the train split.
    """

    kind: ClassVar[str] = "classes"
    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType({"f1": f1, "exact": is_exact})
    best_by: ClassVar[str] = "f1"

    name: str
    classes: tuple[str, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return feature.kind == "class_label" and len(feature.shape) > 0

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        return cls(name=feature.name, classes=feature.classes)

    def statistic(self) -> Statistic | None:
        return self._numbers("declare it a sequence")

    def host_step(self) -> Callable[[Tensors], Any]:
        """Convert numbers [b, n], padded with -1, to float32 [b, classes] of 0 and 1."""

        def many_hot(columns: Tensors) -> Any:
            numbers = columns[self.name]
            is_wrong = numbers >= len(self.classes)
            known = of_classes(self.name, numbers, is_wrong, self.classes, numbers)
            by_class = tf.one_hot(known, len(self.classes))
            # Not a maximum, which is -inf for no numbers.
            return tf.minimum(tf.reduce_sum(by_class, axis=1), 1.0)

        return many_hot

    def shares(self, target: Any) -> Any:
        return target

    def smoothed(self, shares: Any, amount: float) -> Any:
        return (1.0 - amount) * shares + amount / 2

    def loss(self, target: Any, outputs: Any) -> Any:
        """Binary cross entropy, averaged over the classes."""
        return keras.losses.binary_crossentropy(target, outputs, from_logits=True)

    def averaged(self, outputs: Sequence[Any]) -> Any:
        mean = keras.layers.Average()([keras.ops.sigmoid(each) for each in outputs])
        shares = keras.ops.maximum(mean, _LEAST_PROBABILITY)
        return keras.ops.log(shares) - keras.ops.log(
            keras.ops.maximum(1 - mean, _LEAST_PROBABILITY)
        )

    def predict(self, outputs: Any) -> dict[str, Any]:
        return {"probabilities": tf.sigmoid(outputs)}

    def row(self, decoded: Arrays, image: bytes | None, least: float) -> Row:
        probabilities = by_class(self.classes, decoded["probabilities"])
        chosen = [name for name, probability in probabilities.items() if probability > 0.5]
        return {"prediction": chosen, "probabilities": probabilities}

    def lines(self, row: Row) -> list[list[Any]]:
        return [[" ".join(row["prediction"])]]

    def baseline(self) -> Baseline:
        return FrequentClasses(self.classes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MultiHot(ManyClasses):
    """Any number of classes, stored as 0 or 1 for each class."""

    kind: ClassVar[str] = "multi_hot"

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_vector = feature.kind == "tensor" and len(feature.shape) == 1
        return is_vector and feature.dtype not in STRINGS

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        (size,) = feature.shape
        assert size is not None
        return cls(name=feature.name, classes=_numbered(size))

    def host_step(self) -> Callable[[Tensors], Any]:
        """Convert to float32 [b, classes] of 0 and 1."""
        message = (
            f"{self.name} of a record is not 0 or 1 for each of {len(self.classes)} classes; "
            "predict numbers with --task regression, or choose another with --target."
        )

        def check(columns: Tensors) -> Any:
            values = columns[self.name]
            wrong = tf.boolean_mask(values, (values != 0) & (values != 1))
            return tf.cast(checked(values, wrong, message), tf.float32)

        return check


def _is_sign(name: str) -> bool:
    """Whether a class may be a character, such as 7 or R, which a flip changes."""
    return len(name) == 1 or name.isdecimal()


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))
