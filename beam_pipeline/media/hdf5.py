"""Locate or read the arrays of HDF5 files with h5py."""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.numpy_files import DAMAGED, UNSUPPORTED
from tfrecord_dataset import extras
from tfrecord_dataset.format.inflation import check_inflation

SUFFIXES = ("h5", "hdf5")
_BLOCK_BYTES = 8 << 20
_MAX_ARRAYS = 10_000


def is_hdf5(path: str) -> bool:
    """Whether the file has a suffix of HDF5."""
    return path.lower().endswith(tuple(f".{suffix}" for suffix in SUFFIXES))


class StoredArray(NamedTuple):
    """An array of an HDF5 file.

    Attributes:
        name: Path in the file.
        dtype: NumPy dtype, little-endian: "<f4".
        offset: Offset of the values in the file; None if they are chunked or in another dtype.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int | None


def _library() -> Any:
    return extras.load("h5py", "hdf5", "HDF5 files are read")


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open an HDF5 file; any error of the library for a broken file becomes a RecordError."""
    library = _library()
    with storage.opened(path) as handle:
        try:
            with library.File(handle, "r") as file:
                yield file
        except (RecordError, ConfigError):
            raise
        except Exception as error:
            raise RecordError(DAMAGED, f"HDF5: {error}") from error


def arrays_of(path: str) -> list[StoredArray]:
    """List the arrays in all groups of the HDF5 file at `path`, sorted by name.

    Raises:
        RecordError: "damaged array", or "unsupported array" with the array's name.
    """
    library = _library()
    arrays: list[StoredArray] = []

    def look(name: str, item: Any) -> None:
        if isinstance(item, library.Dataset):
            if len(arrays) == _MAX_ARRAYS:
                raise RecordError(UNSUPPORTED, f"over {_MAX_ARRAYS:,} arrays in one file")
            arrays.append(_stored(name, item))

    def external(name: str, link: Any) -> tuple[str, str] | None:
        return (name, link.filename) if isinstance(link, library.ExternalLink) else None

    with _opened(path) as file:
        if link := file.visititems_links(external):
            name, other = link
            raise RecordError(UNSUPPORTED, f"{name!r} is a link to {other!r}; copy it in")
        file.visititems(look)
    return arrays


def _stored(name: str, array: Any) -> StoredArray:
    """Locate an array's values; the reader refuses values that are not numbers."""
    if array.external or array.is_virtual:
        raise RecordError(UNSUPPORTED, f"{name!r} has its values in other files; copy them")
    dtype = array.dtype.newbyteorder("<")
    shape = tuple(map(int, array.shape or ()))
    is_plain = array.chunks is None and array.dtype == dtype and not dtype.hasobject
    return StoredArray(name, dtype.str, shape, array.id.get_offset() if is_plain else None)


def values_of(path: str, name: str) -> Iterator[bytes]:
    """Read an array's values, little-endian, in C order, a few rows at a time.

    Raises:
        RecordError: "damaged array"; "file too large" if they are far larger than the file.
    """
    with _opened(path) as file:
        array = file[name]
        row_bytes = max(1, array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=object)))
        check_inflation(name, array.id.get_storage_size(), array.shape[0] * row_bytes)
        step = max(1, _BLOCK_BYTES // row_bytes)
        for start in range(0, array.shape[0], step):
            rows = array[start : start + step]
            yield np.ascontiguousarray(rows, array.dtype.newbyteorder("<")).tobytes()
