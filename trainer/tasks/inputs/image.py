"""Images: their sizes in the model, and files that clients send."""

import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import STRINGS, Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import listed
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.options.train_options import TrainConfig
from trainer.parsing.images import window_name
from trainer.tasks import networks
from trainer.tasks.inputs.base import Input, not_compared
from trainer.tasks.inputs.tabular import Measured, standardize
from trainer.tensors import Tensor
from trainer.views.pixels import EXACT

# For images that differ in size.
USUAL_SIZE = ImageSize(128, 128)
# Pillow's names of the formats that TensorFlow decodes.
_DECODABLE = ("JPEG", "PNG", "GIF", "BMP")
_ORIENTATION = 0x0112  # Exif


def check_images(option: str, inputs: Iterable[Input], remedy: str = "leave it out") -> None:
    """Raise ConfigError with a remedy if an option needs an image, and no input is one."""
    if not any(isinstance(each, ImageInput) for each in inputs):
        raise ConfigError(
            f"{option} needs an image, but there is none among the inputs "
            f"{listed([each.name for each in inputs])}; {remedy}"
        )


def declared_size(features: Iterable[Feature]) -> ImageSize | None:
    """Return the size of the first image feature with a fixed size; None without one."""
    for feature in filter(ImageInput.suits, features):
        height, width = feature.shape[:2]
        if height is not None and width is not None:
            return ImageSize(height, width)
    return None


def only_image(inputs: Sequence[Input], task: str) -> "ImageInput":
    """Return the only input, an image, or raise ConfigError with the task's name."""
    if len(inputs) == 1 and isinstance(inputs[0], ImageInput):
        return inputs[0]
    names = ", ".join(each.name for each in inputs)
    raise ConfigError(
        f"{task} learns from one image, but the inputs are {names}; choose the image with --inputs"
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageInput(Input):
    """An image; models take float32 [height, width, channels] in 0..1."""

    kind: ClassVar[str] = "image"
    is_file: ClassVar[bool] = True
    suffixes = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")

    name: str
    height: int
    width: int
    channels: int

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return feature.kind == "image"

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        height, width = options.image_size or USUAL_SIZE
        return cls(
            name=feature.name,
            height=height,
            width=width,
            channels=feature.shape[2] or 3,
        )

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.height, self.width, self.channels)

    @property
    def image_size(self) -> ImageSize:
        """Size of images in the input pipeline."""
        return ImageSize(self.height, self.width)

    @property
    def window(self) -> str:
        """Name of the parsed column with the part of an image that a letterbox shows."""
        return window_name(self.name)

    def to_predict(self, feature: Feature) -> Feature:
        """Accept any size, which is stretched to the model's."""
        return dataclasses.replace(feature, shape=(None, None, *feature.shape[2:]))

    def of_client(self, values: Any) -> Any:
        return tf.map_fn(upright, values)

    def stored(self, value: Any, feature: Feature, folder: Path, source: str) -> list[Any]:
        return [readable(self.file_of(value, folder, source))]

    def prepare(self, values: Any) -> Any:
        # Stored integers, of 8 or 16 bits.
        return tf.cast(values, tf.float32) / float(tf.as_dtype(values.dtype).max)

    def encode(self, x: Any) -> Any:
        return networks.residual(x)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ArrayInput(Measured):
    """A tensor [height, width] or [height, width, channels], treated as an image of any numbers.

    `sizes` are (height, width, channels) of the model's input; one channel for two axes. `mean`
    and `variance` are those of the train split by channel.
    """

    kind: ClassVar[str] = "array"

    name: str
    sizes: tuple[int, ...]
    mean: tuple[float, ...] = not_compared()
    variance: tuple[float, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_array = feature.kind == "tensor" and len(feature.shape) in (2, 3)
        return is_array and feature.dtype not in STRINGS

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        sizes = tuple(size or 1 for size in feature.shape)
        return cls(name=feature.name, sizes=sizes if len(sizes) == 3 else (*sizes, 1))

    @property
    def shape(self) -> tuple[int | None, ...]:
        return self.sizes

    def encode(self, x: Any) -> Any:
        return networks.convolutions(standardize(x, self.mean, self.variance))


def readable(path: Path) -> bytes:
    """Read a file; convert to PNG if TensorFlow cannot decode it, or Exif rotates it."""
    from PIL import Image, ImageOps  # most commands do not need Pillow

    try:
        encoded = path.read_bytes()
        with Image.open(io.BytesIO(encoded)) as image:
            is_upright = image.getexif().get(_ORIENTATION, 1) == 1
            if is_upright and image.format in _DECODABLE and image.mode != "CMYK":
                return encoded
            copy = io.BytesIO()
            ImageOps.exif_transpose(image).convert("RGB").save(copy, "PNG")
            return copy.getvalue()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = str(error).partition(" <_io.BytesIO")[0]
        raise DatasetDamagedError(f"{path} is not a readable image: {reason}") from error


_USUAL_SIDE, _LARGEST_SIDE = 320, 640
# Least pixels per side for 95 % of the boxes, and for images.
_LEAST_OF_BOX, _LEAST_SIDE = 20, 160
_SMALL_BOXES = 5  # percent


def default_size(stated: ImageSize | None, step: int) -> ImageSize:
    """Return the size of a model's input for images of a `stated` size, or None if it varies.

    Images are reduced to a longer side of at most 640. Both sides are multiples of `step`.
    """
    if stated is None:
        return ImageSize(_USUAL_SIDE, _USUAL_SIDE)
    scale = min(1.0, _LARGEST_SIDE / max(stated))
    return _near([side * scale for side in stated], step)


def size_for_boxes(stated: ImageSize | None, sides: Any, step: int) -> ImageSize:
    """Return `default_size`, or a smaller one that suffices to detect boxes of these sides.

    `sides`, float [n], are the geometric means of each box's sides relative to the image's.
    """
    if not len(sides):
        return default_size(stated, step)
    small = max(float(np.percentile(sides, _SMALL_BOXES)), 1e-6)
    shape = stated or (1, 1)
    longest = _LARGEST_SIDE if stated is None else min(max(stated), _LARGEST_SIDE)
    side = min(max(_LEAST_OF_BOX / small, _LEAST_SIDE), longest)
    scale = side / max(shape)
    return _near([each * scale for each in shape], step)


def check_size(size: ImageSize, step: int) -> None:
    """Raise ConfigError unless both sides are multiples of `step`."""
    if any(side % step for side in size):
        raise ConfigError(
            f"--image-size {size} is not a multiple of {step} on both sides, which the model "
            f"needs; give {_near(size, step)}"
        )


def size_of(encoded: bytes) -> ImageSize:
    """Read the size of an encoded image from its header."""
    from PIL import Image  # most commands do not need Pillow

    with Image.open(io.BytesIO(encoded)) as image:
        return ImageSize(image.height, image.width)


def _near(sides: Iterable[float], step: int) -> ImageSize:
    return ImageSize(*(max(step, round(side / step) * step) for side in sides))


# The Exif segment is near the start, and not longer than this.
_HEAD_BYTES = 1 << 16
_MOST_ENTRIES = 512
_ENTRY_BYTES = 12


def upright(encoded: Tensor) -> Tensor:
    """Re-encode an image as an upright PNG if it has an Exif orientation (scalar strings)."""
    orientation = tf.cond(
        tf.io.is_jpeg(encoded), lambda: exif_orientation(encoded), lambda: tf.constant(1)
    )
    return tf.cond(
        orientation == 1,
        lambda: encoded,
        lambda: tf.io.encode_png(_turned(_decoded(encoded), orientation)),
    )


def _decoded(encoded: Tensor) -> Tensor:
    return tf.io.decode_jpeg(encoded, channels=3, dct_method=EXACT)


def exif_orientation(encoded: Tensor) -> Tensor:
    """Return the Exif orientation of a JPEG: int32 in 1..8, 1 if it has none.

    https://www.cipa.jp/std/documents/download_e.html?DC-008-Translation-2023-E, sections 4.5 and
    4.6.5.
    """
    raw = tf.io.decode_raw(tf.strings.substr(encoded, 0, _HEAD_BYTES), tf.uint8)
    head = tf.pad(tf.cast(raw, tf.int32), [[0, 16]])
    name = b"Exif\0\0"
    length = tf.size(head) - len(name)
    is_here = tf.reduce_all(
        [head[place : place + length] == byte for place, byte in enumerate(name)], axis=0
    )
    start = tf.argmax(is_here, output_type=tf.int32) + len(name)
    is_little = head[start] == ord("I")  # "II" or "MM"

    def number(places: Tensor, size: int) -> Tensor:
        """Whole numbers of `size` bytes at offsets [...] from the header."""
        at = start + places[..., None] + tf.range(size)
        values = tf.gather(head, tf.clip_by_value(at, 0, tf.size(head) - 1))
        powers = tf.constant([256**power for power in range(size)])
        return tf.reduce_sum(values * tf.where(is_little, powers, powers[::-1]), axis=-1)

    directory = number(tf.constant(4), 4)
    count = tf.clip_by_value(number(directory, 2), 0, _MOST_ENTRIES)
    entries = directory + 2 + _ENTRY_BYTES * tf.range(count)
    stated = tf.where(number(entries, 2) == _ORIENTATION, number(entries + 8, 2), 0)
    orientation = tf.reduce_max(tf.concat([stated, [0]], axis=0))
    is_valid = tf.reduce_any(is_here) & (orientation >= 1) & (orientation <= 8)
    return tf.where(is_valid, orientation, 1)


def _turned(image: Tensor, orientation: Tensor) -> Tensor:
    """Rotate uint8 [height, width, 3] upright."""
    image = tf.cond(orientation >= 5, lambda: tf.transpose(image, [1, 0, 2]), lambda: image)
    mirrored = tf.reduce_any(orientation == [2, 3, 6, 7])
    image = tf.cond(mirrored, lambda: image[:, ::-1], lambda: image)
    upside_down = tf.reduce_any(orientation == [3, 4, 7, 8])
    return tf.cond(upside_down, lambda: image[::-1], lambda: image)
