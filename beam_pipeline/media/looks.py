"""64-bit perceptual hashes, nearly equal for resized or recompressed images."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from beam_pipeline.errors import RecordError
from beam_pipeline.media.images import decode_pixels
from beam_pipeline.media.pixels import to_mode, upright
from tfrecord_dataset import extras

_SIDE = 64  # pixels; the hash uses 32
# In grey levels; images with less deviation count as one colour, and would all look alike.
_LEAST_DEVIATION = 2.0


def check_installed() -> None:
    """Raise ConfigError if the library that hashes images is not installed."""
    extras.load("imagehash", "near-duplicates", "--near-duplicates hashes images")  # 0.4 s


def look_of(data: bytes, max_pixels: int) -> int | None:
    """Return the perceptual hash of an inspected image, by `imagehash.phash`.

    None for an image of one colour, or one that takes too much memory to decode.
    """
    import imagehash

    try:
        header, image = decode_pixels(data, max_pixels)
    except RecordError:
        return None
    grey = to_mode(image, "L")
    if header.format != "tiff":  # Pillow has turned a TIFF already
        grey = upright(grey, header.orientation)
    small = grey.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    if np.asarray(small).std() < _LEAST_DEVIATION:
        return None
    bits: npt.NDArray[np.bool_] = imagehash.phash(small).hash
    return int.from_bytes(np.packbits(bits).tobytes(), "big")
