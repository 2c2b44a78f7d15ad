"""OGG: every page and its checksum.

libsndfile leaves damaged pages out and takes the last whole one for the end, and says nothing.
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
    """Holds the pages of an OGG file with one stream against their checksums, up to the last.

    Raises:
        RecordError: "truncated audio", "damaged audio" or "unsupported audio".
    """
    offset = number = stream = 0
    while True:
        page = _page(data, offset)
        _, version, flags, _, serial, sequence, checksum, _ = _PAGE.unpack_from(page)
        if version or _checksum(page) != checksum:
            raise RecordError(DAMAGED, f"OGG: the checksum of page {number} is wrong")
        if number == 0:
            stream = serial
        if serial != stream or (number and flags & _BEGIN):
            raise RecordError(UNSUPPORTED, "OGG: several streams; write each to a file of its own")
        if sequence != number:
            raise RecordError(DAMAGED, f"OGG: page {sequence} stands where page {number} belongs")
        if flags & _END:
            return
        offset += len(page)
        number += 1


def _page(data: bytes, offset: int) -> bytes:
    """The page at `offset`, its header too."""
    segments = offset + _PAGE.size
    if segments > len(data):
        raise RecordError(TRUNCATED, f"OGG: it ends at byte {len(data):,}, before its last page")
    if not data.startswith(b"OggS", offset):
        raise RecordError(DAMAGED, f"OGG: no page begins at byte {offset:,}")
    body = segments + data[segments - 1]
    end = body + sum(data[segments:body])
    if end > len(data):
        raise RecordError(TRUNCATED, f"OGG: it ends {end - len(data):,} bytes before its page does")
    return data[offset:end]


def _checksum(page: bytes) -> int:
    """OGG's CRC-32: zlib's polynomial with all bits the other way round, from 0, not inverted."""
    without = page[:22] + bytes(4) + page[26:]
    mirrored = zlib.crc32(without.translate(_MIRRORED), 0xFFFF_FFFF) ^ 0xFFFF_FFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_MIRRORED), "big")
