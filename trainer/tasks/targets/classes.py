"""Classes to learn: one of a record, or any number of them."""

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from trainer.features import Feature
from trainer.tasks.checks import none_of
from trainer.tasks.inputs.input import learned
from trainer.tasks.learners import MAX_CLASSES, Distinct, Largest, Learner
from trainer.tasks.targets.target import PerExample, Target, logits


def is_correct(target: Any, outputs: Any) -> Any:
    """1.0 where the largest logit is the target's, else 0.0: [b]."""
    return keras.metrics.sparse_categorical_accuracy(target, outputs)


def f1(target: Any, outputs: Any) -> Any:
    """Harmonic mean of precision and recall of each record's classes: [b].

    A class is predicted where its logit is above 0. Where a record has no class and none is
    predicted, 1.
    """
    predicted = tf.cast(outputs > 0, tf.float32)
    both = tf.reduce_sum(target * predicted, axis=-1)
    all_of_them = tf.reduce_sum(target + predicted, axis=-1)
    return tf.where(all_of_them > 0, 2 * both / tf.maximum(all_of_them, 1.0), 1.0)


def is_exact(target: Any, outputs: Any) -> Any:
    """1.0 where the classes with logits above 0 are all of the record's, and no others: [b]."""
    return tf.cast(tf.reduce_all(tf.equal(target > 0, outputs > 0), axis=-1), tf.float32)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OneClass(Target):
    """One class a record; models yield logits.

    Attributes:
        name: The feature's.
        is_text: Whether the feature has the classes' names, not their numbers.
        classes: As the schema states them, else those of the train split: the numbers up to
            the largest, or all distinct strings in order.
    """

    kind: ClassVar[str] = "class"
    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType({"accuracy": is_correct})

    name: str
    is_text: bool = False
    classes: tuple[str, ...] = learned()

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        return cls(
            name=feature.name, is_text=feature.dtype in ("string", "bytes"), classes=feature.classes
        )

    @property
    def in_words(self) -> str:
        return f"one class a record, by {'name' if self.is_text else 'number'}"

    @property
    def num_outputs(self) -> int:
        return len(self.classes)

    def learner(self) -> Learner[Self] | None:
        if self.classes:
            return None
        if self.is_text:
            names = Distinct(self.name)
            return Learner(names, lambda: dataclasses.replace(self, classes=names.in_order))
        largest = Largest(
            self.name, limit=MAX_CLASSES, remedy="learn it as a number by --task regression"
        )
        return Learner(largest, lambda: dataclasses.replace(self, classes=_numbered(largest.value)))

    def host_step(self) -> Callable[[Any], Any]:
        number = self._number()
        message = (
            f"{self.name} of a record is not one of the {len(self.classes)} classes (-1: it has "
            "none); leave such records out of the dataset."
        )

        def checked(stored: Any) -> Any:  # a GPU would turn wrong ones into NaN without a word
            target = number(stored)
            wrong = tf.boolean_mask(stored, (target < 0) | (target >= len(self.classes)))
            with tf.control_dependencies([none_of(wrong, message)]):
                return tf.identity(target)

        return checked

    def _number(self) -> Callable[[Any], Any]:
        if not self.is_text:
            return lambda stored: stored
        numbers = tf.range(len(self.classes), dtype=tf.int64)
        pairs = tf.lookup.KeyValueTensorInitializer(tf.constant(self.classes), numbers)
        table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        return lambda stored: table.lookup(stored)

    def loss(self, target: Any, outputs: Any) -> Any:
        """Cross entropy, from class numbers [b] and logits [b, classes]."""
        return keras.losses.sparse_categorical_crossentropy(target, outputs, from_logits=True)

    def head(self, x: Any) -> Any:
        return logits(x, self.num_outputs)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ManyClasses(Target):
    """Any number of classes a record, none too; models yield a logit a class.

    Attributes:
        name: The feature's.
        classes: As the schema states them, else the numbers up to the train split's largest.
    """

    kind: ClassVar[str] = "classes"
    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType({"f1": f1, "exact": is_exact})

    name: str
    classes: tuple[str, ...] = learned()

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        return cls(name=feature.name, classes=feature.classes)

    @property
    def in_words(self) -> str:
        return "any number of classes a record"

    @property
    def num_outputs(self) -> int:
        return len(self.classes)

    def learner(self) -> Learner[Self] | None:
        if self.classes:
            return None
        largest = Largest(self.name, limit=MAX_CLASSES, remedy="declare it a sequence")
        return Learner(largest, lambda: dataclasses.replace(self, classes=_numbered(largest.value)))

    def host_step(self) -> Callable[[Any], Any]:
        """From numbers [b, n], padded with -1, to float32 [b, classes] of 0 and 1."""
        message = (
            f"{self.name} of a record has a number that is not one of the {len(self.classes)} "
            "classes; leave such records out of the dataset."
        )

        def many_hot(numbers: Any) -> Any:
            wrong = tf.boolean_mask(numbers, numbers >= len(self.classes))
            with tf.control_dependencies([none_of(wrong, message)]):
                # Of no numbers at all a sum is 0, a maximum -inf.
                counts = tf.reduce_sum(tf.one_hot(numbers, len(self.classes)), axis=1)
            return tf.minimum(counts, 1.0)

        return many_hot

    def loss(self, target: Any, outputs: Any) -> Any:
        """Binary cross entropy, the mean over the classes."""
        return keras.losses.binary_crossentropy(target, outputs, from_logits=True)

    def head(self, x: Any) -> Any:
        return logits(x, self.num_outputs)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MultiHot(ManyClasses):
    """The same, stored as a 0 or 1 for each class."""

    kind: ClassVar[str] = "multi_hot"

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        (size,) = feature.shape
        assert size is not None
        return cls(name=feature.name, classes=_numbered(size - 1))

    @property
    def in_words(self) -> str:
        return "a 0 or 1 for each of several classes"

    def host_step(self) -> Callable[[Any], Any]:
        """To float32 [b, classes] of 0 and 1."""
        message = (
            f"{self.name} of a record is not 0 or 1 for each of {len(self.classes)} classes; learn "
            "it as numbers by --task regression, or name another by --target."
        )

        def checked(stored: Any) -> Any:
            wrong = tf.boolean_mask(stored, (stored != 0) & (stored != 1))
            with tf.control_dependencies([none_of(wrong, message)]):
                return tf.cast(stored, tf.float32)

        return checked


def _numbered(largest: int) -> tuple[str, ...]:
    return tuple(map(str, range(largest + 1)))
