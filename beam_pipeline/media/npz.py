"""Arrays of an .npz file, a zip of .npy files, and reasons to reject arrays."""

from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.index import Index
from beam_pipeline.files.archive.paths import MemberLocation, top_of
from beam_pipeline.files.archive.zip_members import MAX_NPZ_INDEX_BYTES, zip_members

# Reasons of `Rejected`, counted in metadata.json.
EMPTY = "empty file"
NOT_AN_ARRAY = "not an array"
TRUNCATED = "truncated array"
DAMAGED = "damaged array"
PICKLED = "pickled array"
TOO_LARGE = "array too large"
UNSUPPORTED = "unsupported array"

MAGIC = b"PK\x03\x04"
SUFFIX = ".npy"


def array_files(path: str) -> dict[str, str]:
    """Paths of the .npy files in the .npz file at `path` by the names of the arrays.

    Raises:
        RecordError: "empty file", "unsupported array", or the file cannot be read.
    """
    if not storage.read_start(path, 1):
        raise RecordError(EMPTY, "the file has no bytes")
    names = [file.relative for file in storage.list_files(top_of(path))]
    arrays = {
        name.removesuffix(SUFFIX): f"{top_of(path)}/{name}"
        for name in names
        if name.endswith(SUFFIX)
    }
    if not arrays:
        raise RecordError(UNSUPPORTED, "an .npz without arrays")
    return arrays


def arrays_of(handle: Any) -> dict[str, MemberLocation]:
    """Locate the .npy files in an .npz file by the names of the arrays, at least one."""
    members = list(zip_members(handle, MAX_NPZ_INDEX_BYTES))
    Index(members)
    arrays = {
        name.removesuffix(SUFFIX): place
        for name, place in members
        if place and name.endswith(SUFFIX)
    }
    if not arrays:
        raise RecordError(UNSUPPORTED, "an .npz without arrays")
    return arrays
