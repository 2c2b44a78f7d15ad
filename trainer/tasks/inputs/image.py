"""Images."""

import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.options.train import TrainConfig
from trainer.parsing.images import window_name
from trainer.tasks import image_models
from trainer.tasks.inputs.base import Input, not_compared
from trainer.views import exif

# For images that differ in size.
USUAL_SIZE = ImageSize(128, 128)
# Pillow's names of the formats that TensorFlow decodes.
_DECODABLE = ("JPEG", "PNG", "GIF", "BMP")
_ORIENTATION = 0x0112  # Exif


def check_images(option: str, inputs: Iterable[Input]) -> None:
    """Raise ConfigError if an option needs an image, and no input is one."""
    if not any(isinstance(each, Image) for each in inputs):
        raise ConfigError(
            f"{option} needs an image, but there is none among the inputs "
            f"{', '.join(each.name for each in inputs)}; leave it out"
        )


def declared_size(features: Iterable[Feature]) -> ImageSize | None:
    """Return the size of the first image feature with a fixed size; None without one."""
    for feature in filter(Image.suits, features):
        height, width = feature.shape[:2]
        if height is not None and width is not None:
            return ImageSize(height, width)
    return None


def only_image(inputs: Sequence[Input], task: str) -> "Image":
    """Return the only input, an image, or raise ConfigError with the task's name."""
    if len(inputs) == 1 and isinstance(inputs[0], Image):
        return inputs[0]
    names = ", ".join(each.name for each in inputs)
    raise ConfigError(
        f"{task} learns from one image, but the inputs are {names}; choose the image with --inputs"
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Image(Input):
    """An image; models take float32 [height, width, channels] in 0..1.

    `model` and `weights` are those of `image_models.encode`.
    """

    kind: ClassVar[str] = "image"
    is_file: ClassVar[bool] = True
    suffixes = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")

    name: str
    height: int
    width: int
    channels: int
    model: str = not_compared(image_models.SMALL)
    weights: str | None = not_compared(None)

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
            model=options.model,
            weights=options.weights,
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
        return tf.map_fn(exif.upright, values)

    def stored(self, value: Any, feature: Feature, folder: Path, source: str) -> list[Any]:
        return [readable(self.file_of(value, folder, source))]

    def prepare(self, values: Any) -> Any:
        # Stored integers, of 8 or 16 bits.
        return tf.cast(values, tf.float32) / float(tf.as_dtype(values.dtype).max)

    def encode(self, x: Any) -> Any:
        return image_models.encode(self.model, x, self.weights)


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
