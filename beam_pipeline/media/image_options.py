"""How images are stored: what a user chooses of it."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated

from beam_pipeline.media.header import DECODER_MAX_PIXELS, MAX_SIDE
from beam_pipeline.media.stored_format import checked_format
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Group, Option, Options
from tfrecord_dataset.python_words import tells_in_python


@tells_in_python
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImageOptions(Options):
    """How images are stored. No image is enlarged by `max_side`.

        >>> small = beam_pipeline.ImageOptions(max_side=512, format="jpeg")
        >>> config = beam_pipeline.BuildConfig(input="cells", output="data", image=small)

    Raises:
        ConfigError: A value is out of range or no format, or `size` and `max_side` are both given.
    """

    max_side: Annotated[
        int | None,
        Option(
            "shrink images whose longer side exceeds this",
            flag="--image-max-side",
            metavar="PX",
            least=1,
            most=MAX_SIDE["jpeg"],
        ),
        Group("stored images"),
    ] = None
    size: Annotated[
        ImageSize | None,
        Option("stretch every image to this size", flag="--image-size", metavar="S|WxH"),
    ] = None
    format: Annotated[
        str,
        Option(
            "convert images to this format; bmp holds pixels, mix=0.5 half of the images as bmp "
            "and the rest as jpeg",
            flag="--image-format",
            metavar="keep|jpeg|png|bmp|mix=SHARE",
            make=checked_format,
        ),
    ] = "keep"
    jpeg_quality: Annotated[
        int,
        Option(
            "of JPEGs that are encoded again",
            flag="--jpeg-quality",
            metavar="Q",
            least=1,
            most=100,
        ),
    ] = 95
    depth_scale: Annotated[
        float | None,
        Option(
            "metres per unit of depth maps: 0.001 for millimetres",
            flag="--depth-scale",
            metavar="M",
            above=0,
        ),
    ] = None
    max_pixels: Annotated[
        int,
        Option("reject larger images before they are decoded", flag="--max-image-pixels", least=1),
        Group("checks"),
    ] = DECODER_MAX_PIXELS

    def _conflicts(self) -> Iterator[str]:
        if self.size is None:
            return
        if self.max_side is not None:
            yield "image size and image max side cannot be combined; give one"
        if max(self.size) > (longest := MAX_SIDE["jpeg"]):
            yield f"image size {self.size}: give 1 to {longest} pixels a side"
        elif self.size.height * self.size.width > DECODER_MAX_PIXELS:
            yield (
                f"image size {self.size}: TensorFlow decodes up to {DECODER_MAX_PIXELS:,} pixels; "
                "give a smaller size"
            )
