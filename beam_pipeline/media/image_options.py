"""Options for stored images, and the resulting format of each image."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated

from beam_pipeline.errors import RecordError
from beam_pipeline.media.header import DECODER_MAX_PIXELS, MAX_SIDE, UNSUPPORTED, Header
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Group, Option, Options

FORMATS = ("keep", "jpeg", "png", "bmp")
_BMP_HEADER_BYTES = 54


def stored_format(header: Header, asked: str) -> str:
    """Return the stored format of an image, "jpeg", "png" or "bmp"; `asked` is one of FORMATS.

    Raises:
        RecordError: "unsupported image": BMP holds 8 bits a sample.
    """
    if asked == "keep":
        return "jpeg" if header.format == "jpeg" else "png"
    if asked == "bmp" and header.bits == 16:
        raise RecordError(
            UNSUPPORTED,
            f"{header.format.upper()}: 16 bits per sample, of which BMP holds 8; pass "
            "--image-format png, or jpeg, which keeps the high byte",
        )
    return asked


def bmp_bytes(height: int, width: int) -> int:
    """Bytes of a stored BMP: three bytes per pixel, rows padded to four bytes."""
    return _BMP_HEADER_BYTES + height * (-(-3 * width // 4) * 4)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImageOptions(Options):
    """How images are stored. No image is enlarged by `max_side`.

        >>> small = beam_pipeline.ImageOptions(max_side=512, format="jpeg")
        >>> config = beam_pipeline.BuildConfig(input="cells", output="data", image=small)

    Raises:
        ConfigError: A value is invalid, or `size` and `max_side` are both given.
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
            "convert images to this format; bmp holds pixels, which need no decoding",
            flag="--image-format",
            choices=FORMATS,
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
            metavar="M",
            recipe_only=True,
            above=0,
        ),
    ] = None
    max_pixels: Annotated[
        int,
        Option(
            "reject larger images before they are decoded",
            least=1,
            recipe_only=True,
        ),
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
