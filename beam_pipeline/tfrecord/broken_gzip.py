"""What can be unpacked of a damaged gzip file: up to the damage, and from the next member on."""

import io
import zlib
from typing import Any

from beam_pipeline.tfrecord.whole_frames import Gap
from tfrecord_dataset.inflation import check_inflation

_MAGIC = b"\x1f\x8b\x08"
_BLOCK_BYTES = 1 << 16
_GZIP = 31  # zlib's wbits


def unpack(packed: Any, unpacked: Any, name: str) -> list[Gap]:
    """Writes what can be unpacked of a file; returns where, in that, something is missing.

    Args:
        packed: The gzip file, open, which can be sought in.
        unpacked: Where its content goes.
        name: Of the file, for errors.

    Raises:
        RecordError: "file too large": the content is far larger than the file.
    """
    size = packed.seek(0, io.SEEK_END)
    gaps = []
    start = 0
    while start < size:
        end, cause = _unpack_member(packed, start, unpacked, name)
        if cause:
            # What was unpacked last may be no content any more, and reach into the next member.
            gaps.append(Gap(unpacked.tell(), 0, f"{cause}, at byte {end:,} of the gzip file"))
            start = _find_member(packed, start + 1, size)
        else:
            start = _without_padding(packed, end)
    return gaps


def _unpack_member(packed: Any, start: int, unpacked: Any, name: str) -> tuple[int, str]:
    """(where a member ends, ""), or (where it is damaged, how)."""
    packed.seek(start)
    member = zlib.decompressobj(_GZIP)
    position = start
    while not member.eof:
        block = packed.read(_BLOCK_BYTES)
        if not block:
            return position, "the gzip stream ends too early"
        before = member.copy()
        try:
            unpacked.write(member.decompress(block))
        except zlib.error:  # and what was unpacked of the block is lost: once more, byte by byte
            for number in range(len(block)):
                try:
                    unpacked.write(before.decompress(block[number : number + 1]))
                except zlib.error as error:
                    return position + number, f"the gzip stream is damaged ({error})"
            member = before
        position += len(block) - len(member.unused_data)
        check_inflation(name, position, unpacked.tell())
    return position, ""


def _find_member(packed: Any, start: int, size: int) -> int:
    """Where the next member starts, or seems to; `size` where none does."""
    for block in range(start, size, _BLOCK_BYTES):
        packed.seek(block)
        data: bytes = packed.read(_BLOCK_BYTES + len(_MAGIC) - 1)
        if (place := data.find(_MAGIC)) >= 0:
            return block + place
    return size


def _without_padding(packed: Any, end: int) -> int:
    """Where the zeros end that may follow a member."""
    packed.seek(end)
    while block := packed.read(_BLOCK_BYTES):
        zeros = len(block) - len(block.lstrip(b"\0"))
        end += zeros
        if zeros < len(block):
            break
    return end
