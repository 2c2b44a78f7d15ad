"""The format in which images are stored: that of their files, one for all, or two in shares.

BMP holds pixels as they are, 24 bits each, which every reader of images takes without decoding. A
share of the images may be stored so, and the rest as JPEG: which ones is drawn by their content, so
it depends neither on the order nor on other images.
"""

import hashlib
import math

from beam_pipeline.errors import RecordError
from beam_pipeline.media.header import UNSUPPORTED, Header
from tfrecord_dataset.errors import ConfigError, UnknownNameError

FORMATS = ("keep", "jpeg", "png", "bmp")
_MIX = "mix"
_BMP_HEADER_BYTES = 54
_HASH_BYTES = 8


def checked_format(asked: str) -> str:
    """One of FORMATS, or `mix=SHARE`, as configurations have it: "mix=.50" is "mix=0.5".

    Raises:
        ConfigError: It is neither.
    """
    if asked in FORMATS:
        return asked
    name, equals, text = asked.partition("=")
    if name != _MIX or not equals:
        raise UnknownNameError("--image-format", asked, (*FORMATS, f"{_MIX}=0.5"))
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise ConfigError(
            f"--image-format {asked!r} states no share between 0 and 1; write {_MIX}=0.5 for half "
            "of the images as BMP, or bmp for all"
        )
    return f"{_MIX}={share:g}"


def stored_format(header: Header, data: bytes, asked: str) -> str:
    """ "jpeg", "png" or "bmp": the format of one image.

    Args:
        header: Of its file.
        data: The file, by whose hash a share is drawn.
        asked: As `checked_format` has it.

    Raises:
        RecordError: "unsupported image": BMP holds 8 bits a sample.
    """
    if asked == "keep":
        return "jpeg" if header.format == "jpeg" else "png"
    if asked in ("jpeg", "png"):
        return asked
    if header.bits == 16:
        raise RecordError(
            UNSUPPORTED,
            f"{header.format.upper()}: 16 bits per sample, of which BMP holds 8; pass "
            "--image-format png, or jpeg, which keeps the high byte",
        )
    share = 1.0 if asked == "bmp" else float(asked.partition("=")[2])
    drawn = int.from_bytes(hashlib.sha256(data).digest()[:_HASH_BYTES], "big")
    return "bmp" if drawn < share * 2 ** (8 * _HASH_BYTES) else "jpeg"


def bmp_bytes(height: int, width: int) -> int:
    """Bytes of a BMP as it is stored here: rows of three bytes a pixel fill groups of four."""
    return _BMP_HEADER_BYTES + height * (-(-3 * width // 4) * 4)
