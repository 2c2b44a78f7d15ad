"""Many frames of a TFRecord file at once."""

from typing import Any

import google_crc32c
import numpy as np

from tfrecord_dataset.frames import FOOTER_BYTES, FRAME_BYTES, HEADER_BYTES


def unframed(content: bytes, starts: Any, ends: Any) -> tuple[list[bytes], Any]:
    """The payloads of frames, with their lengths and checksums checked.

    Args:
        content: With the frames.
        starts, ends: Of each frame in it, int64 [n].

    Returns:
        The payloads, and whether each is whole: bool [n].
    """
    payloads = [
        content[start:end]
        for start, end in zip(
            (starts + HEADER_BYTES).tolist(), (ends - FOOTER_BYTES).tolist(), strict=True
        )
    ]
    array = np.frombuffer(content, np.uint8)
    lengths = _numbers(array, starts, "<u8")
    checksums = _numbers(array, ends - FOOTER_BYTES, "<u4")
    found = np.fromiter(map(google_crc32c.value, payloads), np.uint32, len(payloads))
    masked = (found >> 15 | found << 17) + np.uint32(0xA282EAD8)  # as TFRecord files have it
    return payloads, (lengths == ends - starts - FRAME_BYTES) & (checksums == masked)


def _numbers(array: Any, places: Any, dtype: str) -> Any:
    """The numbers that begin at these places of uint8 [bytes]: [n]."""
    width = np.dtype(dtype).itemsize
    return np.ascontiguousarray(array[places[:, None] + np.arange(width)]).view(dtype)[:, 0]
