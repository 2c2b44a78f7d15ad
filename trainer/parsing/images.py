"""Encoded images, and maps of a class or depth per pixel."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import ClassVar

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.parsing.reader import Decoding, FeatureReader, Output, Tensors
from trainer.tensors import Tensor
from trainer.views import View, whole_view
from trainer.views.pixels import as_dtype, decode_jpeg, see_image

# Operations are named after their feature, so that TensorFlow's errors contain it.
DECODING = "decode_image"
# Formats other than "mixed".
_KNOWN = frozenset({"jpeg", "png", "bmp"})
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]")

# Chooses the view to decode from an image's height and width, int32 [2].
ChooseView = Callable[[Tensor], View]


class ImageReader(FeatureReader):
    """A decoded image (JPEG, PNG, BMP, or the first frame of a GIF).

    Output: float32 in 0..1 or, with `image_dtype` "uint8", the stored integers, uint8 or uint16:
    [height, width, channels]; three channels unless the shape declares another number. A
    letterbox adds `<name>_window`, float32 [4]: xmin, ymin, xmax, ymax of the shown part, in 0..1
    of the image and beyond.

    Attributes:
        nearest: Whether to use nearest pixels (for maps) instead of antialiased means.
    """

    reads_batches: ClassVar[bool] = False
    nearest: ClassVar[bool] = False

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        shape = (*(decoding.image_size or feature.shape[:2]), feature.shape[2] or 3)
        is_float = decoding.image_dtype == "float32" and not self.nearest
        dtype = tf.float32 if is_float else tf.as_dtype(feature.dtype)
        image = Output(feature.name, feature, dtype, shape)
        if decoding.letterbox is None or self.nearest:
            return [image]
        return [image, Output(window_name(feature.name), feature, tf.float32, (4,))]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        if decoding.image_size is not None:
            choose = functools.partial(whole_view, size=decoding.letterbox)
            return self.decode_view(feature, parsed, decoding, choose)[0]
        image = self.pixels(feature, parsed[feature.key])
        if not self.nearest:
            image = as_dtype(image, decoding.image_dtype, image.dtype)
        return {feature.name: image}

    def pixels(self, feature: Feature, encoded: Tensor) -> Tensor:
        """Decode a whole image: uint8 or uint16 [height, width, channels]."""
        channels, name = feature.shape[2] or 3, _scope(feature)

        def decode(channels: int) -> Tensor:
            options = {"channels": channels, "name": name, "expand_animations": False}
            return tf.io.decode_image(encoded, **options)

        if feature.dtype == "uint16":
            image = decode_png(feature, encoded, channels)
        elif channels == 1 and feature.format not in ("jpeg", "png"):
            # Only BMP is not converted to one channel while decoding.
            is_bmp = tf.strings.substr(encoded, 0, 2) == "BM"
            image = tf.cond(is_bmp, lambda: tf.image.rgb_to_grayscale(decode(3)), lambda: decode(1))
        else:
            image = decode(channels)
        return tf.ensure_shape(image, (*feature.shape[:2], channels))

    def decode_view(
        self, feature: Feature, parsed: Tensors, decoding: Decoding, choose: ChooseView
    ) -> tuple[Tensors, View]:
        """Decode the outputs at `decoding.image_size`, for the view that `choose` returns."""
        assert decoding.image_size is not None
        size, channels = decoding.image_size, feature.shape[2] or 3
        encoded = parsed[feature.key]

        def from_jpeg() -> tuple[Tensor, View]:
            with tf.name_scope(_scope(feature)):
                view = choose(tf.image.extract_jpeg_shape(encoded)[:2])
                dtype = decoding.image_dtype
                return decode_jpeg(view, encoded, size, channels, decoding.drawn, dtype=dtype), view

        def from_other() -> tuple[Tensor, View]:
            image = self.pixels(feature, encoded)
            view = choose(tf.shape(image)[:2])
            return self.see_pixels(view, image, decoding), view

        if channels not in (1, 3) or self.nearest or feature.dtype != "uint8":
            image, view = from_other()
        elif decoding.formats_are_known and feature.format in _KNOWN:
            image, view = from_jpeg() if feature.format == "jpeg" else from_other()
        else:
            image, view = tf.cond(tf.io.is_jpeg(encoded), from_jpeg, from_other)
        view = View(*view)
        outputs = {feature.name: tf.ensure_shape(image, (*size, channels))}
        if decoding.letterbox is not None and not self.nearest:
            outputs[window_name(feature.name)] = tf.ensure_shape(view.shares, (4,))
        return outputs, view

    def see_pixels(self, view: View, image: Tensor, decoding: Decoding) -> Tensor:
        """Return a view of a decoded image at `decoding.image_size`."""
        assert decoding.image_size is not None
        size, dtype = decoding.image_size, decoding.image_dtype
        return see_image(view, image, size, decoding.drawn, dtype=dtype)


def window_name(image: str) -> str:
    """Return the name of a letterbox's additional output."""
    return f"{image}_window"


def decode_png(feature: Feature, encoded: Tensor, channels: int) -> Tensor:
    """Decode a PNG: uint8 or, for such features, uint16 [height, width, channels]."""
    dtype = tf.uint16 if feature.dtype == "uint16" else tf.uint8
    with tf.name_scope(_scope(feature)):
        return tf.io.decode_png(encoded, channels=channels, dtype=dtype)


def _scope(feature: Feature) -> str:
    return f"{DECODING}/{_NOT_IN_NAMES.sub('_', feature.name)}"


_IGNORED = 255
_UNKNOWN_DEPTH = 0


class MapReader(ImageReader):
    """A map, a one-channel PNG, viewed like its image with nearest pixels.

    Output: [height, width, 1], uint8 for classes (255 is ignored) or uint16 for depths (0 is
    unknown), whatever the dtype of images. Outside the image the value is 255 for classes, 0 for
    depths.
    """

    nearest: ClassVar[bool] = True

    def pixels(self, feature: Feature, encoded: Tensor) -> Tensor:
        numbers = decode_png(feature, encoded, 1)
        return tf.ensure_shape(numbers, (*feature.shape[:2], 1))

    def see_pixels(self, view: View, image: Tensor, decoding: Decoding) -> Tensor:
        assert decoding.image_size is not None
        fill = _IGNORED if image.dtype == tf.uint8 else _UNKNOWN_DEPTH
        return see_image(view, image, decoding.image_size, decoding.drawn, fill=fill, nearest=True)
