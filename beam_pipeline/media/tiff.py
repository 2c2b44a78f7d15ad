"""Read a TIFF's tags, to check stated sizes before decoding.

Source: TIFF 6.0, section 2.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

ORIENTATION, SAMPLES_PER_PIXEL = 0x0112, 0x0115
TILE_WIDTH, TILE_LENGTH = 0x0142, 0x0143
SHORT = 3

_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
# By kind: bytes per value, and the struct format of a whole number.
_VALUE_BYTES = dict(zip(range(1, 14), (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4), strict=True))
_NUMBERS = {1: "B", SHORT: "H", 4: "I"}


class Entry(NamedTuple):
    """A tag, with the kind of its values.

    Attributes:
        number: The value if it is a single whole number, otherwise None.
        num_bytes: Size of the values if they do not fit into the entry, otherwise 0.
    """

    tag: int
    kind: int
    number: int | None
    num_bytes: int


def entries(tiff: bytes) -> Iterator[Entry]:
    """Yield the tags of the first directory up to its end or truncation; none if not a TIFF."""
    order = _ORDERS.get(bytes(tiff[:4]))
    if order is None:
        return
    head = struct.Struct(f"{order}HHI")
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, values = head.unpack_from(tiff, entry)
            num_bytes = values * _VALUE_BYTES.get(kind, 0)
            single = None
            if values == 1 and kind in _NUMBERS:
                (single,) = struct.unpack_from(order + _NUMBERS[kind], tiff, entry + head.size)
            yield Entry(tag, kind, single, num_bytes if num_bytes > 4 else 0)
    except struct.error:  # truncated
        return
