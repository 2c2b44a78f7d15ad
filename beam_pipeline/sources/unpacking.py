"""Unpack compressed inputs once, since records refer to byte ranges of plain files.

Unpacked files are in the build's scratch folder, on storage that all workers share, until the
build commits. Their names derive from the input's path, size and time, so that a retried worker
or a resumed build finds them.
"""

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator

from beam_pipeline.files import storage

_BLOCK_BYTES = 1 << 20
_PACKED_TAR = re.compile(r"(.+)\.(?:tar\.|t)(gz|bz2?|xz|zst)", re.IGNORECASE | re.DOTALL)
_IN_PACKED_TAR = re.compile(rf"(?P<archive>{_PACKED_TAR.pattern}):/(?P<name>.+)", _PACKED_TAR.flags)


def unpack_gzip(path: str, scratch: str) -> str:
    """Unpack a gzip file below `scratch` once; return the path of its content.

    Raises:
        RecordError: "missing file", "unreadable file", "truncated file", "file too large", or
            "damaged file" if it is not a whole gzip file or a checksum is wrong.
    """
    return unpacked(path, "", scratch, blocks_of(path, "gz"))


def with_ranges(path: str, scratch: str) -> str:
    """Return the path of a file with the same content whose byte ranges can be read.

    A compressed tar, or a file compressed in an archive, is unpacked once; any other path is
    returned unchanged.

    Raises:
        RecordError: "missing file", "unreadable file", "truncated file", "damaged file", "damaged
            archive", or "file too large".
    """
    if packed := _PACKED_TAR.fullmatch(path):
        name, ending = packed[1].rpartition("/")[2], packed[2].lower()
        # Keeps its name, for messages.
        tar = storage.join(place_of(path, "", scratch), f"{name}.tar")
        return _written(tar, blocks_of(path, "bz2" if ending == "bz" else ending))
    if storage.is_deflated(path):
        return unpacked(path, "", scratch, blocks_as_stored(path))
    return path


def is_packed_tar(path: str) -> bool:
    """Whether a file has the name of a compressed tar."""
    return _PACKED_TAR.fullmatch(path) is not None


def in_packed_tar(path: str) -> tuple[str, str] | None:
    """Split the path of a member, "photos.tgz:/1.jpg", into tar and name; None for others."""
    match = _IN_PACKED_TAR.fullmatch(path)
    return (match["archive"], match["name"]) if match else None


def blocks_as_stored(path: str) -> Iterator[bytes]:
    """Read a file block by block, without decompression; checks its checksum in an archive."""
    with storage.opened(path) as handle:
        yield from iter(functools.partial(handle.read, _BLOCK_BYTES), b"")


def unpacked(path: str, part: str, scratch: str, blocks: Iterable[bytes]) -> str:
    """Write `blocks`, the content of a `part` of the input `path`, to a file unless it exists."""
    return _written(place_of(path, part, scratch), blocks)


def _written(target: str, blocks: Iterable[bytes]) -> str:
    if not storage.exists(target):
        with storage.writing(target) as handle:
            for block in blocks:
                handle.write(block)
    return target


def place_of(path: str, part: str, scratch: str) -> str:
    """Return the path below `scratch` for a `part` of the input `path`."""
    name = hashlib.sha256(f"{path}\0{part}\0{storage.version(path)}".encode()).hexdigest()[:32]
    return storage.join(scratch, name)


def blocks_of(path: str, ending: str = "") -> Iterator[bytes]:
    """Decompress a file block by block, as `storage.decompressed`; raise as `unpack_gzip`."""
    with storage.decompressed(path, ending) as content:
        yield from iter(functools.partial(content.read, _BLOCK_BYTES), b"")
