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


def members(handle: IO[bytes]) -> list[zipfile.ZipInfo]:
    """The arrays of an .npz file, in its order.

    Raises:
        RecordError: "damaged array": the file is not a zip.
    """
    try:
        with zipfile.ZipFile(handle) as archive:
            return [each for each in archive.infolist() if each.filename.endswith(".npy")]
    except Exception as error:  # a broken zip may raise anything
        raise RecordError(DAMAGED, f".npz: {error}") from error


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
        with zipfile.ZipFile(handle) as archive:
            return archive.read(member)
    except Exception as error:  # likewise
        raise RecordError(DAMAGED, f".npz: {member.filename}: {error}") from error
