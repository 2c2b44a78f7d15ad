"""Lists the members of a zip as byte ranges, without unpacking.

Format: PKWARE's APPNOTE.TXT, 4.3. `zipfile` needs half a kilobyte of memory per member, too much
for millions of members.
"""

import io
import stat
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.paths import DAMAGED, OUTSIDE, UNSAFE, UNSUPPORTED, Place
from tfrecord_dataset.format.inflation import check_inflation
from tfrecord_dataset.seekable import buffered
from tfrecord_dataset.store.listing import is_litter

ENCRYPTED = "encrypted member"
LOCAL_HEADER_BYTES = 30
_LOCAL = b"PK\x03\x04"
_ENTRY = struct.Struct("<4s6H3L5H2L")
_ENTRY_MAGIC = b"PK\x01\x02"
_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_MOST_COMMENT = 1 << 16
# An entry has some 100 bytes in the file, and takes some 65 in memory.
_MAX_MEMBERS = 10_000_000
_MAX_INDEX_BYTES = 2 << 30
_BUFFER_BYTES = 1 << 18
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
_METHODS = {0: "stored", 8: "deflated"}
_OTHER_METHODS = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd"}
_IS_ENCRYPTED = 0x2041  # includes strong encryption and hidden headers
_UNIX = 3


class _End(NamedTuple):
    """The end record of a zip: the position and size of its index."""

    number: int
    start: int
    length: int
    shift: int  # bytes before the zip, as in a self-extracting program


def zip_members(handle: Any) -> Iterator[tuple[str, Place | None]]:
    """Yield (name, location of its content) of a zip's members; location None for a folder.

    Hidden files and files that operating systems leave behind are left out.

    Raises:
        RecordError: "damaged archive", "truncated file", "unsafe path", "encrypted member",
            "unsupported member", or "file too large", each with the member's name.
    """
    size = handle.seek(0, io.SEEK_END)
    end = _end_of(handle, size)
    if end.number > _MAX_MEMBERS or end.length > _MAX_INDEX_BYTES:
        raise RecordError(
            UNSUPPORTED, f"{end.number:,} members, over {_MAX_MEMBERS:,}; pack several zips"
        )
    handle.seek(end.start)
    with buffered(handle, _BUFFER_BYTES) as index:
        left = end.length
        packed = unpacked = 0
        for _ in range(end.number):
            name, place, num_bytes = _entry(index, end)
            left -= num_bytes
            if left < 0:
                break
            if place:
                packed += place.packed
                unpacked += place.length
            yield name, place
    if left:
        raise RecordError(DAMAGED, f"its index lacks some of the {end.number:,} stated members")
    check_inflation("the archive", packed, unpacked)


def _end_of(handle: Any, size: int) -> _End:
    tail_start = max(0, size - _MOST_COMMENT - _END.size)
    handle.seek(tail_start)
    tail = handle.read(size - tail_start)
    at = len(tail)
    while (at := tail.rfind(_END_MAGIC, 0, at)) >= 0:
        if at + _END.size <= len(tail):
            fields = _END.unpack_from(tail, at)
            if at + _END.size + fields[7] <= len(tail):
                return _checked(handle, fields, tail_start + at)
    raise RecordError(DAMAGED, "it has no index at its end, so it is incomplete; fetch it again")


def _checked(handle: Any, fields: tuple[Any, ...], at: int) -> _End:
    """Return the end record, given the offset `at` of its plain form."""
    _, disk, index_disk, _, number, length, start, _ = fields
    end = at
    if _FULL_16 in (disk, number) or _FULL_32 in (length, start):
        handle.seek(max(0, at - _LOCATOR.size))
        locator = handle.read(_LOCATOR.size)
        if len(locator) == _LOCATOR.size and locator.startswith(b"PK\x06\x07"):
            # The record precedes its locator, whatever bytes precede the zip.
            end = at - _LOCATOR.size - _END64.size
            handle.seek(max(0, end))
            data = handle.read(_END64.size)
            if len(data) < _END64.size or not data.startswith(b"PK\x06\x06"):
                raise RecordError(
                    DAMAGED, "the end of its index (zip64) is misplaced; fetch it again"
                )
            *_, disk, index_disk, _, number, length, start = _END64.unpack(data)
    if disk or index_disk:
        raise RecordError(UNSUPPORTED, "it is one part of a split zip; join the parts (zip -s 0)")
    shift = end - length - start
    if shift < 0:
        raise RecordError(DAMAGED, "its index would begin before the file does; fetch it again")
    return _End(number, start + shift, length, shift)


def _entry(index: Any, end: _End) -> tuple[str, Place | None, int]:
    """Parse an entry to (name, location or None for a folder, bytes of the entry)."""
    data = index.read(_ENTRY.size)
    if len(data) < _ENTRY.size or not data.startswith(_ENTRY_MAGIC):
        raise RecordError(DAMAGED, "its index has an invalid entry; fetch it again")
    (
        _, made_by, _, flags, method, _, _, crc32, packed, length,
        name_bytes, extra_bytes, comment_bytes, disk, _, attributes, offset,
    ) = _ENTRY.unpack(data)  # fmt: skip
    raw_name = index.read(name_bytes)
    extra = index.read(extra_bytes)
    comment = index.read(comment_bytes)
    num_bytes = len(data) + len(raw_name) + len(extra) + len(comment)
    name = _name(raw_name)
    is_folder = name.endswith("/")
    name = safe_name(name.removesuffix("/"))
    if any(map(is_litter, name.split("/"))):
        return "", None, num_bytes
    if is_folder:
        return name, None, num_bytes
    if _FULL_32 in (length, packed, offset):
        length, packed, offset = _large(name, extra, length, packed, offset)
    if flags & _IS_ENCRYPTED:
        raise RecordError(ENCRYPTED, f"{name!r} needs a password; unpack the zip with it")
    if method not in _METHODS:
        how = _OTHER_METHODS.get(method, f"method {method}")
        raise RecordError(
            UNSUPPORTED, f"{name!r} is compressed by {how}; pack the zip anew (Deflate, or stored)"
        )
    if made_by >> 8 == _UNIX and stat.S_ISLNK(attributes >> 16):
        raise RecordError(UNSUPPORTED, f"{name!r} is a symbolic link, not a file")
    offset += end.shift
    if offset + LOCAL_HEADER_BYTES + packed > end.start or disk not in (0, _FULL_16):
        raise RecordError(DAMAGED, f"{name!r} would be outside the members; fetch it again")
    if packed != length if not method else packed > 2 * length + _BUFFER_BYTES:
        raise RecordError(
            DAMAGED, f"{name!r} has {length:,} bytes but takes {packed:,}; fetch it again"
        )
    check_inflation(repr(name), packed, length)
    return name, Place(offset, packed, length, _METHODS[method], crc32), num_bytes


def _name(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:  # written on DOS
        return raw.decode("cp437")


def safe_name(name: str) -> str:
    """Return a member's path below its archive; RecordError "unsafe path" if it has none."""
    name = name.removeprefix("./")
    parts = name.split("/")
    if OUTSIDE.match(name) or "\\" in name or "" in parts or "." in parts or "\0" in name:
        raise RecordError(
            UNSAFE,
            f"{name!r} leads outside the archive; pack it anew, with names such as 'cat/1.jpg'",
        )
    return name


def _large(name: str, extra: bytes, *values: int) -> Iterator[int]:
    """Read the sizes and the offset from the zip64 field, for values beyond 4 bytes."""
    at = 0
    wide = b""
    while at + 4 <= len(extra):
        kind, num_bytes = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            wide = extra[at + 4 : at + 4 + num_bytes]
        at += 4 + num_bytes
    for value in values:
        if value == _FULL_32:
            if len(wide) < 8:
                raise RecordError(DAMAGED, f"{name!r} does not state its size; fetch it again")
            value, wide = int.from_bytes(wide[:8], "little"), wide[8:]
        yield value


def content_start(head: bytes, place: Place) -> int:
    """Return the offset of a member's content, after the local header at the start of `head`.

    Raises:
        RecordError: "damaged archive".
    """
    if place.method == "plain":
        return 0
    if len(head) < LOCAL_HEADER_BYTES or not head.startswith(_LOCAL):
        raise RecordError(DAMAGED, "the member is not where the index of the zip says")
    name_bytes, extra_bytes = struct.unpack_from("<HH", head, 26)
    return LOCAL_HEADER_BYTES + int(name_bytes) + int(extra_bytes)
