"""Maps: a class number or depth for each pixel of an image."""

from typing import ClassVar

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.parsing.images import Image
from trainer.parsing.reader import Decoding
from trainer.tensors import Tensor
from trainer.views import View
from trainer.views.pixels import see_image

_IGNORED = 255
_UNKNOWN_DEPTH = 0


class Map(Image):
    """A map, a one-channel PNG, viewed like its image with nearest pixels.

    Output: [height, width, 1], uint8 for classes (255 is ignored) or uint16 for depths (0 is
    unknown), whatever the dtype of images. Outside the image the value is 255 for classes, 0 for
    depths.
    """

    nearest: ClassVar[bool] = True

    def dtype(self, feature: Feature, decoding: Decoding) -> tf.DType:
        return tf.as_dtype(feature.dtype)

    def pixels(self, feature: Feature, encoded: Tensor) -> Tensor:
        numbers = tf.io.decode_png(encoded, channels=1, dtype=tf.as_dtype(feature.dtype))
        return tf.ensure_shape(numbers, (*feature.shape[:2], 1))

    def finished(self, image: Tensor, decoding: Decoding) -> Tensor:
        return image

    def see_pixels(self, view: View, image: Tensor, decoding: Decoding) -> Tensor:
        assert decoding.image_size is not None
        fill = _IGNORED if image.dtype == tf.uint8 else _UNKNOWN_DEPTH
        return see_image(view, image, decoding.image_size, decoding.views, fill=fill, nearest=True)
