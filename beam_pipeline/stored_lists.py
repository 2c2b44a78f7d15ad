"""What the lists of an Example that others wrote hold, in brief."""

import dataclasses
from typing import NamedTuple


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListSummary:
    """What one key of an Example holds that is an Example already: a list, told in brief.

    One number and one short text are their own summary: an int, a float, a str.

    Attributes:
        kind: The list's: "int64", "float32" or "bytes"; "" where none is set.
        length: Values in it.
        minimum, maximum: Of numbers; None where there are none, or only NaN.
        finite_range: The same of finite numbers, where some are infinite.
        not_finite: How many numbers are NaN or infinite.
        form: What one bytes value is by its first bytes: "jpeg", "png", "bmp", "gif", "wav",
            "flac", "ogg"; else "text" or "raw"; "" of an empty one.
        num_bytes: Bytes of one bytes value.
        num_characters: Of a text.
        sha256: Hex digest of an image or audio, once inspected.
        shape: (height, width) in pixels of an image, (samples, channels) of audio, as stored.
        sample_rate: Of audio.
    """

    kind: str
    length: int
    minimum: float | int | None = None
    maximum: float | int | None = None
    finite_range: tuple[float | None, float | None] | None = None
    not_finite: int = 0
    form: str = ""
    num_bytes: int = 0
    num_characters: int = 0
    sha256: str = ""
    shape: tuple[int, ...] = ()
    sample_rate: int = 0


class Expectation(NamedTuple):
    """What a key of an Example holds in the first records of its dataset.

    Attributes:
        kind: The list's: "int64", "float32" or "bytes".
        form: "image" or "audio" where its values are encoded so; else "".
        source: The record where that was first seen, for messages.
    """

    kind: str
    form: str
    source: str
