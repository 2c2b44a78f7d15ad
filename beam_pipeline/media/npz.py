"""The members of an .npz file, a zip of .npy files; and the reasons to reject arrays."""

import struct
import zipfile
from typing import IO

from beam_pipeline.errors import RecordError

# Reasons of `Rejected`, counted in metadata.json.
EMPTY = "empty file"
NOT_AN_ARRAY = "not an array"
TRUNCATED = "truncated array"
DAMAGED = "damaged array"
PICKLED = "pickled array"
TOO_LARGE = "array too large"
UNSUPPORTED = "unsupported array"

MAGIC = b"PK\x03\x04"
_LOCAL_HEADER_BYTES = 30
# An entry of the index takes 46 bytes and more there, and half a kilobyte once it is read.
_MAX_INDEX_BYTES = 4 << 20
_BLOCK_BYTES = 1 << 20


def members(handle: IO[bytes]) -> list[zipfile.ZipInfo]:
    """The arrays of an .npz file, in its order.

    Raises:
        RecordError: "damaged array": the file is not a zip; "unsupported array": it has too many
            members.
    """
    size = handle.seek(0, 2)
    try:
        with zipfile.ZipFile(_Index(handle)) as archive:
            found = [each for each in archive.infolist() if each.filename.endswith(".npy")]
    except RecordError:
        raise
    except Exception as error:  # a broken zip may raise anything
        raise RecordError(DAMAGED, f".npz: {error}") from error
    if sum(each.compress_size for each in found) > size:
        raise RecordError(DAMAGED, ".npz: its members state more bytes than the file has")
    return found


class _Index:
    """What `zipfile` reads to find members: an index, which it reads at once, so never much."""

    def __init__(self, handle: IO[bytes]):
        self._handle = handle
        self.seek = handle.seek
        self.tell = handle.tell
        self.seekable = handle.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._handle.read(size if 0 <= size <= _MAX_INDEX_BYTES else _MAX_INDEX_BYTES + 1)
        if len(data) > _MAX_INDEX_BYTES:
            raise RecordError(UNSUPPORTED, ".npz: too many members; save fewer arrays in one file")
        return data


def data_offset(handle: IO[bytes], member: zipfile.ZipInfo) -> int:
    """The offset in the file of the bytes of `member`, compressed or not.

    Raises:
        RecordError: "damaged array": there is no such member.
    """
    handle.seek(max(0, member.header_offset))
    header = handle.read(_LOCAL_HEADER_BYTES)
    if len(header) < _LOCAL_HEADER_BYTES or not header.startswith(MAGIC):
        raise RecordError(
            DAMAGED, f".npz: {member.filename} is not where the index of the zip says"
        )
    name_bytes, extra_bytes = struct.unpack_from("<HH", header, 26)
    return member.header_offset + len(header) + int(name_bytes) + int(extra_bytes)


def read(handle: IO[bytes], member: zipfile.ZipInfo) -> bytes:
    """The .npy file `member`, with its checksum checked; up to as many bytes as the index states.

    Raises:
        RecordError: "damaged array".
    """
    try:
        with zipfile.ZipFile(handle) as archive, archive.open(member) as part:
            # All at once, it would unpack whatever there is before it looks at the stated size.
            return b"".join(iter(lambda: part.read(_BLOCK_BYTES), b""))
    except Exception as error:  # likewise
        raise RecordError(DAMAGED, f".npz: {member.filename}: {error}") from error
