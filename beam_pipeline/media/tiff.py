"""TIFF's directory of tags, to check stated sizes before decoding.

Source: TIFF 6.0, section 2; for BigTIFF https://libtiff.gitlab.io/libtiff/specification/bigtiff.html.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

ORIENTATION, SAMPLES_PER_PIXEL = 0x0112, 0x0115
TILE_WIDTH, TILE_LENGTH = 0x0142, 0x0143
SHORT = 3

# Of each, the order of its bytes.
_CLASSIC = {b"II*\0": "<", b"MM\0*": ">"}
_BIG = {b"II+\0": "<", b"MM\0+": ">"}
# Bytes of a value of each kind, and how a single number is written.
_VALUE_BYTES = dict(zip(range(1, 14), (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4), strict=True)) | {
    16: 8, 17: 8, 18: 8,
}  # fmt: skip
_NUMBERS = {1: "B", SHORT: "H", 4: "I", 16: "Q"}


class Entry(NamedTuple):
    """A tag of a directory, with the kind of its values.

    Attributes:
        number: Its value if it is a single whole number, otherwise None.
        num_bytes: Size of its values if they do not fit into the entry, otherwise 0.
    """

    tag: int
    kind: int
    number: int | None
    num_bytes: int


def entries(tiff: bytes) -> Iterator[Entry]:
    """Yield the tags of the first directory, as far as it is complete; none if not a TIFF."""
    magic = bytes(tiff[:4])
    order = _CLASSIC.get(magic) or _BIG.get(magic)
    if order is None:
        return
    directory, at, number, inline = ("I", 4, "H", 4) if magic in _CLASSIC else ("Q", 8, "Q", 8)
    head = struct.Struct(f"{order}HH{directory}")
    try:
        (start,) = struct.unpack_from(order + directory, tiff, at)
        (count,) = struct.unpack_from(order + number, tiff, start)
        start += struct.calcsize(f"<{number}")
        for entry in range(start, start + (head.size + inline) * count, head.size + inline):
            tag, kind, values = head.unpack_from(tiff, entry)
            num_bytes = values * _VALUE_BYTES.get(kind, 0)
            single = None
            if values == 1 and kind in _NUMBERS:
                (single,) = struct.unpack_from(order + _NUMBERS[kind], tiff, entry + head.size)
            yield Entry(tag, kind, single, num_bytes if num_bytes > inline else 0)
    except (struct.error, OverflowError):  # truncated, or a place beyond 63 bits
        return
