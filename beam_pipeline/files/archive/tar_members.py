"""List the members of a tar file as byte ranges, without unpacking."""

import tarfile
from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.paths import (
    DAMAGED,
    OUTSIDE,
    UNSAFE,
    UNSUPPORTED,
    BoundedReads,
    Member,
)
from tfrecord_dataset.shown_text import is_unicode

TRUNCATED = "truncated file"
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
