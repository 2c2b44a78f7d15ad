"""List the members of a tar or zip as byte ranges, without unpacking."""

import stat
import struct
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.member_paths import (
    DAMAGED,
    OUTSIDE,
    UNSAFE,
    UNSUPPORTED,
    BoundedReads,
    Member,
    MemberLocation,
)
from tfrecord_dataset.format.inflation import check_inflation
from tfrecord_dataset.shown_text import is_unicode
from tfrecord_dataset.store.listing import is_litter

TRUNCATED = "truncated file"
ENCRYPTED = "encrypted member"
LOCAL_HEADER_BYTES = 30
_LOCAL = b"PK\x03\x04"
# An entry takes about 100 bytes in the index, and about 600 in zipfile while it is listed.
_MAX_INDEX_BYTES = 1 << 30
MAX_NPZ_INDEX_BYTES = 1 << 20  # about 10,000 arrays
_METHODS = {0: "stored", 8: "deflated"}
_IS_ENCRYPTED = 0x2041  # includes strong encryption and hidden headers
_IS_UTF_8 = 0x800
_UNIX = 3
_SPARE_BYTES = 1 << 18
_BLOCK_BYTES = tarfile.BLOCKSIZE
# Longest accepted header: a long name takes a few kilobytes. A damaged header may state any size,
# and tarfile would read all of it.
_MAX_HEADER_BYTES = 1 << 20
_SCANNED_BYTES = 1 << 20
# Messages of tarfile for a file that ends within a member or its headers.
_ENDS_EARLY = ("unexpected end of data", "empty header", "truncated header")
_COMPRESSED = {
    b"\x1f\x8b": "gunzip",
    b"BZh": "bunzip2",
    b"\xfd7zXZ": "unxz",
    b"\x28\xb5\x2f\xfd": "unzstd",
    b"\x04\x22\x4d\x18": "unlz4",
}


def read_members(handle: Any) -> Iterator[Member]:
    """Yield the members of the tar file behind `handle` in order, in bounded memory.

    Supports USTAR, GNU and PAX, with long names and large sizes. The handle may be read and
    moved between two members.

    Raises:
        RecordError: "compressed archive", "empty archive", "truncated file" or "damaged
            archive", after the members before the fault.
    """
    size = handle.seek(0, 2)
    handle.seek(0)
    head = handle.read(_BLOCK_BYTES)
    for magic, program in _COMPRESSED.items():
        if head.startswith(magic):
            raise RecordError(
                "compressed archive",
                f"a compressed tar cannot be read by byte ranges; decompress it ({program})",
            )
    if not head.strip(b"\0"):
        raise RecordError("empty archive", "it has no members")
    handle.seek(0)
    archive = _open(handle)
    end = 0
    while (info := _next(archive)) is not None:
        archive.members = []  # type: ignore[attr-defined]  # tarfile would keep all of them
        if info.size < 0 or archive.offset <= end:
            raise RecordError(DAMAGED, f"the header at byte {end:,} states impossible sizes")
        end = info.offset_data + info.size
        if info.isreg() and not info.issparse() and end > size:
            raise RecordError(
                TRUNCATED,
                f"member {info.name!r} ends {end - size:,} bytes after the end of the archive",
            )
        end = archive.offset
        if not info.isdir():
            yield _member(info)
    _check_end(handle, archive.offset, size)


def _open(handle: Any) -> tarfile.TarFile:
    headers: Any = BoundedReads(handle, _MAX_HEADER_BYTES)
    try:
        return tarfile.TarFile(fileobj=headers, mode="r")
    except RecordError:
        raise
    except Exception as error:  # a hostile header may raise anything
        raise RecordError(DAMAGED, f"not a tar file: {error}") from error


def _next(archive: tarfile.TarFile) -> tarfile.TarInfo | None:
    try:
        return archive.next()
    except RecordError:
        raise
    except Exception as error:  # as above
        reason = TRUNCATED if str(error) in _ENDS_EARLY else DAMAGED
        raise RecordError(reason, f"byte {archive.offset:,}: {error}") from error


def _check_end(handle: Any, offset: int, size: int) -> None:
    """Raise RecordError unless the rest is one or more blocks of zeros."""
    if offset + _BLOCK_BYTES > size:
        raise RecordError(
            TRUNCATED, "it has no end mark (two blocks of zeros) after its last member"
        )
    handle.seek(offset)
    if handle.read(_BLOCK_BYTES).strip(b"\0"):
        raise RecordError(DAMAGED, f"the header at byte {offset:,} is invalid")
    while data := handle.read(_SCANNED_BYTES):
        if data.strip(b"\0"):
            raise RecordError(
                DAMAGED,
                f"more follows the end mark at byte {offset:,}; if that is another tar, unpack "
                "both (tar --ignore-zeros) and pack them as one",
            )


def _member(info: tarfile.TarInfo) -> Member:
    problem = None
    if OUTSIDE.match(info.name):
        problem = (UNSAFE, f"{info.name!r} leads outside the archive")
    elif info.issparse():
        problem = (UNSUPPORTED, f"{info.name!r} is a sparse file; pack it without holes")
    elif not info.isreg():
        problem = (UNSUPPORTED, f"{info.name!r} is a link, a device or a pipe, not a file")
    elif not is_unicode(info.name):
        problem = ("not UTF-8", f"the name {info.name!a}")
    return Member(info.name.removeprefix("./"), info.offset_data, info.size, problem)


def zip_members(
    handle: Any, max_index_bytes: int = _MAX_INDEX_BYTES
) -> Iterator[tuple[str, MemberLocation | None]]:
    """Yield (name, location of the content) of a zip's members; the location of a folder is None.

    Hidden files and files that operating systems leave behind are left out.

    Raises:
        RecordError: "damaged archive", "unsafe path", "encrypted member", "unsupported member",
            or "file too large", each with the member's name.
    """
    index: Any = BoundedReads(handle, max_index_bytes)
    try:
        archive = zipfile.ZipFile(index)
    except RecordError:
        raise
    except Exception as error:  # a hostile index may raise anything
        raise RecordError(DAMAGED, f"it has no complete index ({error}); fetch it again") from error
    packed = unpacked = 0
    for info in archive.infolist():
        name = safe_name(_name(info).removesuffix("/"))
        if any(map(is_litter, name.split("/"))):
            continue
        if info.is_dir():
            yield name, None
            continue
        _check(name, info, archive.start_dir)
        packed += info.compress_size
        unpacked += info.file_size
        method = _METHODS[info.compress_type]
        yield (
            name,
            MemberLocation(
                info.header_offset, info.compress_size, info.file_size, method, info.CRC
            ),
        )
    check_inflation("the archive", packed, unpacked)


def _name(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    if name.isascii() or info.flag_bits & _IS_UTF_8:
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:  # written on DOS
        return name


def _check(name: str, info: zipfile.ZipInfo, end: int) -> None:
    """Raise RecordError for a member that cannot be read as a range of bytes before `end`."""
    packed, length = info.compress_size, info.file_size
    if info.flag_bits & _IS_ENCRYPTED:
        raise RecordError(ENCRYPTED, f"{name!r} needs a password; unpack the zip with it")
    if info.compress_type not in _METHODS:
        raise RecordError(
            UNSUPPORTED,
            f"{name!r} is compressed by method {info.compress_type}; pack the zip anew (Deflate, "
            "or stored)",
        )
    if info.create_system == _UNIX and stat.S_ISLNK(info.external_attr >> 16):
        raise RecordError(UNSUPPORTED, f"{name!r} is a symbolic link, not a file")
    if info.volume not in (0, 0xFFFF):
        raise RecordError(
            UNSUPPORTED, f"{name!r} is in another part of a split zip; join the parts (zip -s 0)"
        )
    if not 0 <= info.header_offset <= end - LOCAL_HEADER_BYTES - packed:
        raise RecordError(DAMAGED, f"{name!r} would be outside the members; fetch it again")
    is_stored = info.compress_type == zipfile.ZIP_STORED
    if packed != length if is_stored else packed > 2 * length + _SPARE_BYTES:
        raise RecordError(
            DAMAGED, f"{name!r} has {length:,} bytes but takes {packed:,}; fetch it again"
        )
    check_inflation(repr(name), packed, length)


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


def content_start(head: bytes, place: MemberLocation) -> int:
    """Return the offset of a member's content, after the local header at the start of `head`."""
    if place.method == "plain":
        return 0
    if len(head) < LOCAL_HEADER_BYTES or not head.startswith(_LOCAL):
        raise RecordError(DAMAGED, "the member is not where the index of the zip says")
    name_bytes, extra_bytes = struct.unpack_from("<HH", head, 26)
    return LOCAL_HEADER_BYTES + int(name_bytes) + int(extra_bytes)
