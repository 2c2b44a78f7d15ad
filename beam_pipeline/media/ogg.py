"""OGG: check every page and its checksum.

libsndfile silently skips damaged pages, and treats the last complete page as the end.
Source: RFC 3533.
"""

import struct
import zlib

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio_format import DAMAGED, TRUNCATED, UNSUPPORTED

_PAGE = struct.Struct("<4sBBqIIIB")
_BEGIN, _END = 0x02, 0x04
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def check(data: bytes) -> None:
    """Check the checksums of all pages of an OGG file with one stream."""
    offset = number = stream = 0
    while True:
        page = _page(data, offset)
        _, version, flags, _, serial, sequence, checksum, _ = _PAGE.unpack_from(page)
        if version or _checksum(page) != checksum:
            raise RecordError(DAMAGED, f"the checksum of page {number} is wrong")
        if number == 0:
            stream = serial
        if serial != stream or (number and flags & _BEGIN):
            raise RecordError(UNSUPPORTED, "several streams; write each one to its own file")
        if sequence != number:
            raise RecordError(DAMAGED, f"page {sequence} is in the place of page {number}")
        if flags & _END:
            return
        offset += len(page)
        number += 1


def _page(data: bytes, offset: int) -> bytes:
    """Return the page at `offset`, including its header."""
    segments = offset + _PAGE.size
    if segments > len(data):
        raise RecordError(TRUNCATED, f"it ends at byte {len(data):,}, before its last page")
    if not data.startswith(b"OggS", offset):
        raise RecordError(DAMAGED, f"no page begins at byte {offset:,}")
    body = segments + data[segments - 1]
    end = body + sum(data[segments:body])
    if end > len(data):
        raise RecordError(TRUNCATED, f"it ends {end - len(data):,} bytes before the end of a page")
    return data[offset:end]


def _checksum(page: bytes) -> int:
    """Compute OGG's CRC-32: zlib's polynomial with all bits reversed, from 0, not inverted."""
    without = page[:22] + bytes(4) + page[26:]
    mirrored = zlib.crc32(without.translate(_MIRRORED), 0xFFFF_FFFF) ^ 0xFFFF_FFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_MIRRORED), "big")
