"""Sizes that a file states beside its header, or for which Pillow takes memory once it opens it."""

import struct
from collections.abc import Iterator

from beam_pipeline.media import tiff

Size = tuple[int, int]
"""(width, height) in pixels."""

_PNG_START = b"\x89PNG\r\n\x1a\n"
_ICON_ENTRY_BYTES = 16


def sizes_of(data: bytes, image_format: str) -> Iterator[Size]:
    """The sizes of a WebP's canvas, an icon's images or a TIFF's tiles; none of other formats."""
    try:
        match image_format:
            case "webp":
                yield from _canvas(data)
            case "ico":
                yield from _icons(data)
            case "tiff":
                yield from _tiles(data)
    except struct.error:  # truncated
        return


def _canvas(data: bytes) -> Iterator[Size]:
    """https://developers.google.com/speed/webp/docs/riff_container."""
    match data[12:16]:
        case b"VP8X":
            sides = data[24:27], data[27:30]
            yield (
                int.from_bytes(sides[0], "little") + 1,
                int.from_bytes(sides[1], "little") + 1,
            )
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            yield (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            yield width & 0x3FFF, height & 0x3FFF


def _icons(data: bytes) -> Iterator[Size]:
    (count,) = struct.unpack_from("<H", data, 4)
    for entry in range(6, 6 + _ICON_ENTRY_BYTES * count, _ICON_ENTRY_BYTES):
        (start,) = struct.unpack_from("<I", data, entry + 12)
        if data.startswith(_PNG_START, start):
            yield struct.unpack_from(">II", data, start + 16)
        else:  # a BMP without its first header
            header_bytes, width, height = struct.unpack_from("<Iii", data, start)
            if header_bytes == 12:  # OS/2's
                width, height = struct.unpack_from("<HH", data, start + 4)
            yield abs(width), abs(height)


def _tiles(data: bytes) -> Iterator[Size]:
    sides = {entry.tag: entry.number for entry in tiff.entries(data)}
    width, height = sides.get(tiff.TILE_WIDTH), sides.get(tiff.TILE_LENGTH)
    if width and height:
        yield width, height
