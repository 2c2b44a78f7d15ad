"""Common interface of the readers of all kinds of features."""

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature, shape_text
from tfrecord_dataset.format.feature_keys import default_values, specs_to_read
from tfrecord_dataset.format.frames import MAX_PAYLOAD_BYTES
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tensors import Tensor, check
from trainer.views import WHOLE, View, Views

_MAX_VALUES = MAX_PAYLOAD_BYTES  # at one byte each
_MAX_DIMENSIONS = 253  # TensorFlow has 254, with that of the batch

Tensors = dict[str, Any]
Augment = Callable[[Tensor, Tensor], Tensor]

STORED_DTYPES: Mapping[str, tf.DType] = {
    "int64": tf.int64,
    "float32": tf.float32,
    "bytes": tf.string,
    "string": tf.string,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """Options to decode images and audio.

    Attributes:
        image_size: (height, width) in pixels to stretch images to; None keeps their own size.
        image_dtype: "float32" in 0..1, or "uint8".
        audio_mono: Whether to average the channels of audio.
        audio_sample_rates: Samples per second to resample audio to, by feature.
        masks: Whether to decode masks of objects, their most expensive column.
        portable: Whether to use only TensorFlow's own operations, as a SavedModel needs:
            they support no audio but 16-bit WAV.
        views: Distribution of random views of each image and its boxes, shown at
            `image_size`; None for whole images.
        augment: Function of (uint8 [height, width, channels], seed int64 [2]) to the same, applied
            after the view; None for none.
        seed: Seed of views and augmentation, with the record's number and the pass.
        formats_are_known: Whether each image has the format of its feature, as in a dataset that
            was completely inspected; else it is detected per image.

    Raises:
        ConfigError: `views` without an `image_size`.
    """

    image_size: ImageSize | None = None
    image_dtype: str = "float32"
    audio_mono: bool = False
    audio_sample_rates: Mapping[str, int] = dataclasses.field(default_factory=dict)
    masks: bool = True
    portable: bool = False
    views: Views | None = None
    augment: Augment | None = None
    seed: int = 0
    formats_are_known: bool = False

    def __post_init__(self) -> None:
        if self.views and self.image_size is None:
            raise ConfigError("views are shown at image_size; give image_size=(height, width)")

    @property
    def drawn(self) -> Views:
        """`views`, or those of whole images."""
        return self.views or WHOLE

    @property
    def letterbox(self) -> ImageSize | None:
        """`image_size`, if images keep their aspect in it; else None."""
        return self.image_size if self.drawn.letterbox else None


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """A tensor of a feature.

    Attributes:
        name: Name in the trainer's batches.
        feature: Feature of the tensor.
        dtype: Dtype of the values.
        shape: Shape in one record; None for a varying size.
        padding: Padding value for shorter records; None for images and outputs of fixed
            shape, which are not padded.
    """

    name: str
    feature: Feature
    dtype: tf.DType
    shape: tuple[int | None, ...] = ()
    padding: int | float | bytes | None = None

    @property
    def varies(self) -> bool:
        """Whether records may differ in length, and can be padded."""
        return self.padding is not None and self.shape[0] is None


class FeatureReader(abc.ABC):
    """Reader of the features of one kind.

    Attributes:
        reads_batches: Whether `decode` accepts a whole parsed batch as well as one parsed
            record; lists of varying length are ragged in a batch.
    """

    __slots__ = ()

    reads_batches: ClassVar[bool] = True

    @abc.abstractmethod
    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        """Describe the outputs of `decode`."""

    @abc.abstractmethod
    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        """Decode the outputs by name from the parsed tensors."""

    def see(self, feature: Feature, decoded: Tensors, decoding: "Decoding", view: View) -> Tensors:
        """Apply a view of the record's image to outputs; those without a position are unchanged."""
        return {}


def stored_dtype(feature: Feature) -> tf.DType:
    """Return the dtype of the feature's list, or raise ConfigError if Examples cannot store it."""
    if math.prod(size for size in feature.shape if size is not None) > _MAX_VALUES:
        raise ConfigError(
            f"feature {feature.name!r} has shape {shape_text(feature)}, more values than a record "
            "can hold; leave it out"
        )
    if len(feature.shape) > _MAX_DIMENSIONS:
        raise ConfigError(
            f"feature {feature.name!r} has {len(feature.shape)} dimensions, more than TensorFlow "
            "has for a batch; leave it out"
        )
    dtype = STORED_DTYPES.get(feature.dtype)
    if dtype is None:
        raise ConfigError(
            f"feature {feature.name!r} has dtype {feature.dtype!r}, which Examples cannot store; "
            f"declare one of {', '.join(STORED_DTYPES)}"
        )
    return dtype


def check_lengths(lengths: Any, fits: Any, message: str) -> Any:
    """Fail with `message` and the invalid lengths, for one record or a batch."""
    wrong = tf.boolean_mask(tf.reshape(lengths, [-1]), tf.reshape(~fits, [-1]))
    return check(tf.reduce_all(fits), message, wrong)


def specs_of(feature: Feature) -> dict[str, Any]:
    """Return the `tf.io` parse specs of a feature by key; lists of varying length are ragged."""
    is_one = feature.encoding == "bytes" or feature.kind in ("image", "map", "audio")
    shape = () if is_one else feature.shape
    specs = {}
    for key, each in specs_to_read(feature).items():
        dtype = STORED_DTYPES[each.kind]
        if each.length is None:
            specs[key] = tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
        else:
            default = None if feature.default is None else default_values(feature, each.length)
            specs[key] = tf.io.FixedLenFeature(shape, dtype, default)
    return specs
