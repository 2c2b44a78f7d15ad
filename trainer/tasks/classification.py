"""Image classification: one class a picture."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import keras
import tensorflow as tf

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature
from trainer.tasks import image_models
from trainer.tasks.task import PerExample


def is_correct(target: Any, logits: Any) -> Any:
    """1.0 where the largest logit is the target's, else 0.0: [b]."""
    return keras.metrics.sparse_categorical_accuracy(target, logits)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """One class a picture; models take float32 images in 0..1 and yield logits.

    Attributes:
        image: The name of the image feature.
        target: The name of the class label.
        classes: Class names by number.
        channels: Of the images.
    """

    name: ClassVar[str] = "classification"

    image: str
    target: str
    classes: tuple[str, ...]
    channels: int = 3

    @classmethod
    def from_features(
        cls, features: Mapping[str, Feature], target: str | None = None
    ) -> "Classification":
        """The task on the image and the class label among `features`.

        Raises:
            ConfigError: There is none of them, or several and none is called "image"
                ("label"), or the label's classes are not known.
            UnknownNameError: `target` is no class label.
        """
        image = features[_only("image", "image", features)]
        label = features[target_label(features, target)]
        if not label.classes:
            raise ConfigError(
                f"class label {label.name!r} states no classes; declare them: "
                f'{{"name": "{label.name}", "kind": "class_label", "classes": ["cat", "dog"]}}'
            )
        return cls(
            image=image.name,
            target=label.name,
            classes=label.classes,
            channels=image.shape[2] or 3,
        )

    @property
    def features(self) -> tuple[str, ...]:
        """The image and the label."""
        return (self.image, self.target)

    @property
    def metrics(self) -> Mapping[str, PerExample]:
        """Accuracy: the share of examples whose largest logit is the target's."""
        return MappingProxyType({"accuracy": is_correct})

    def loss(self, target: Any, outputs: Any) -> Any:
        """Cross entropy of each example, [b], from class numbers [b] and logits [b, classes]."""
        return keras.losses.sparse_categorical_crossentropy(target, outputs, from_logits=True)

    def check(self, inputs: Any, target: Any) -> tuple[Any, Any]:
        """Fails on a label that is no class, which a GPU would turn into NaN without a word."""
        message = (
            f"a record's {self.target!r} is not one of the {len(self.classes)} classes (-1: it "
            "has none); leave such records out of the dataset"
        )
        in_range = tf.reduce_all((target >= 0) & (target < len(self.classes)))
        with tf.control_dependencies([tf.debugging.Assert(in_range, [message, target])]):
            return tf.identity(inputs), target

    def prepare(self, inputs: Any) -> Any:
        """uint8 [b, height, width, channels] to float32 in 0..1."""
        return tf.cast(inputs, tf.float32) / 255.0

    def build_model(
        self, name: str, image_size: tuple[int, int], weights: str | None
    ) -> keras.Model:
        """`small`, or a model of `keras.applications` by name, its preprocessing included."""
        return image_models.build(
            name,
            input_shape=(*image_size, self.channels),
            num_outputs=len(self.classes),
            weights=weights,
        )


def target_label(features: Mapping[str, Feature], target: str | None) -> str:
    """The name of the class label to learn."""
    if target is None:
        return _only("class_label", "label", features)
    labels = [name for name, feature in features.items() if feature.kind == "class_label"]
    if target not in labels:
        raise UnknownNameError("class label", target, labels)
    return target


def _only(kind: str, usual_name: str, features: Mapping[str, Feature]) -> str:
    names = [name for name, feature in features.items() if feature.kind == kind]
    if len(names) == 1 or usual_name in names:
        return usual_name if usual_name in names else names[0]
    found = ", ".join(f"{feature.name} ({feature.kind})" for feature in features.values())
    if not names:
        raise ConfigError(
            f"classification needs a feature of kind {kind!r}, and the dataset has: {found}; "
            "train on another dataset"
        )
    remedy = "name one by --target" if kind == "class_label" else f"call one {usual_name!r}"
    raise ConfigError(f"the dataset has several features of kind {kind!r}: {found}; {remedy}")
