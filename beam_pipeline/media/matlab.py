"""The arrays of MATLAB's files: of version 5 by scipy, of 7.3, which is HDF5, by h5py.

The records lie along the first axis or the last one: that which all arrays have in common.
"""

import contextlib
import importlib
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.hdf5 import BLOCK_BYTES, StoredArray, telling_damage
from beam_pipeline.media.npz import DAMAGED, UNSUPPORTED
from tfrecord_dataset import extras
from tfrecord_dataset.format.inflation import check_inflation

SUFFIX = "mat"
_HDF5 = b"MATLAB 7.3"
# NumPy's types by MATLAB's classes.
_DTYPES = {"double": "<f8", "single": "<f4", "logical": "|u1"} | {
    f"{sign}int{8 * size}": np.dtype(f"{sign or 'i'}{size}").str
    for sign in ("u", "")
    for size in (1, 2, 4, 8)
}
_WHOLE = 1 << 53  # from here on a fraction of 64 bits skips whole numbers
# Types of elements (MAT-File Format, version 5): of which numbers are, and of what holds them.
_NUMBERS, _MATRIX, _PACKED = frozenset({*range(1, 8), 9, 12, 13}), 14, 15
_OF_NUMBERS = range(6, 16)  # classes of arrays
_COMPLEX = 0x800  # a flag of arrays
_HEAD_BYTES = 1 << 16
_LAST = ":last"  # behind the name of an array whose last axis is the records


def is_matlab(path: str) -> bool:
    """Whether the file's name is one of MATLAB's."""
    return path.lower().endswith(f".{SUFFIX}")


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Any]]:
    """(scipy.io, the file), or (None, what h5py opened) of version 7.3."""
    with storage.opened(path) as handle:
        name = "h5py" if handle.read(len(_HDF5)) == _HDF5 else "scipy.io"
        handle.seek(0)
        try:
            library = importlib.import_module(name)
        except ImportError as error:
            raise ConfigError(
                f"{path} is read by {name.partition('.')[0]}, which is not installed; run "
                f"{extras.install('matlab')}"
            ) from error
        with telling_damage("MATLAB"):
            if name == "h5py":
                with library.File(handle, "r") as file:
                    yield None, file
            else:
                yield library, handle


def arrays_of(path: str) -> list[StoredArray]:
    """The values in a file of MATLAB, by name, with its classes ("double", "cell") and shapes.

    Raises:
        RecordError: "damaged array"; "file too large" where they are far larger than the file.
    """
    with _opened(path) as (scipy, file):
        if scipy is None:
            values = ((name, each) for name, each in file.items() if not name.startswith("#"))
            return [StoredArray(name, _class(each), _shape(each), None) for name, each in values]
        pairs = _complex_names(file)
        file.seek(0)
        found = [
            StoredArray(name, "complex" if name in pairs else kind, shape, None)
            for name, shape, kind in scipy.whosmat(file)
        ]
    size = storage.size(path) or 0
    for name, kind, shape, _ in found:
        check_inflation(name, size, math.prod(shape) * np.dtype(_DTYPES.get(kind, "u1")).itemsize)
    return found


def _complex_names(file: Any) -> set[str]:
    """The arrays of complex numbers in a file of version 5.

    Raises:
        RecordError: Numbers are of a type that there is not, for which scipy ends the process.
    """
    start, names = file.read(128), set[str]()
    order = "<" if start[126:] == b"IM" else ">"
    at = 0 if 0 in start[:4] else 128  # else it is of version 4, which has no types
    while at:
        file.seek(at)
        if len(tag := file.read(8)) < 8:
            break
        kind, size = struct.unpack(f"{order}2I", tag)
        head = file.read(min(size, _HEAD_BYTES))
        if kind == _PACKED:
            head = zlib.decompressobj().decompress(head, _HEAD_BYTES)[8:]
        flags = _flags(head, order) if kind in (_MATRIX, _PACKED) else 0
        if flags & 0xFF in _OF_NUMBERS:
            _, (_, name), (of_numbers, _) = _elements(head[16:], order)
            if of_numbers not in _NUMBERS:
                raise RecordError(DAMAGED, f"MATLAB: numbers of the type {of_numbers}")
            if flags & _COMPLEX:
                names.add(name.decode("latin-1"))
        at += 8 + size
    return names


def _flags(matrix: bytes, order: str) -> int:
    return int(struct.unpack_from(f"{order}I", matrix, 8)[0])


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """(type, bytes) of three elements behind one another; short ones are in their tags."""
    for _ in range(3):
        kind, size = struct.unpack_from(f"{order}2I", data)
        if kind >> 16:
            yield kind & 0xFFFF, data[4 : 4 + (kind >> 16)]
            data = data[8:]
        else:
            yield kind, data[8 : 8 + size]
            data = data[8 + size + -size % 8 :]


def _class(item: Any) -> str:
    if "MATLAB_sparse" in item.attrs:
        return "sparse"
    return bytes(item.attrs.get("MATLAB_class", b"unknown")).decode(errors="replace")


def _shape(item: Any) -> tuple[int, ...]:
    return tuple(map(int, reversed(getattr(item, "shape", None) or ())))


def by_records(path: str, arrays: Mapping[str, Any]) -> dict[str, StoredArray]:
    """The arrays of one table, their first axis the records, with NumPy's types.

    Args:
        path: Of the file.
        arrays: As `arrays_of`, by the names that they have as columns.

    Raises:
        RecordError: "unsupported array": it holds no numbers, or nothing tells the axis.
    """
    for name, kind, shape, _ in arrays.values():
        if kind not in _DTYPES or not shape:
            raise RecordError(
                UNSUPPORTED,
                f"{name!r} is of MATLAB's class {kind}; leave it out by ignore_columns: {name}, "
                "or save its numbers as an array",
            )
    shapes = [each.shape for each in arrays.values()]
    sides = [{shape[0], shape[-1]} - ({1} if max(shape) > 1 else set()) for shape in shapes]
    common = set.intersection(*sides)
    if all(len(shape) == 2 for shape in shapes):
        common = common & {shapes[0][0]} or common  # rows, where columns are as many
    elif any(len(shape) > 2 and shape[0] == shape[-1] for shape in shapes):
        common = set()
    if len(common) != 1:
        told = ", ".join(
            f"{name} {'x'.join(map(str, each.shape))}" for name, each in arrays.items()
        )
        raise RecordError(
            UNSUPPORTED,
            f"along which axis the records of {told} lie is not clear: leave some out with "
            "ignore_columns, or save them by numpy.savez, the records along the first axis",
        )
    [number] = common
    return {name: _of_rows(path, each, number) for name, each in arrays.items()}


def _of_rows(path: str, array: StoredArray, number: int) -> StoredArray:
    name, kind, shape, _ = array
    name, rest = (name, shape[1:]) if shape[0] == number else (name + _LAST, shape[:-1])
    if math.prod(rest) > 1:
        return StoredArray(name, _DTYPES[kind], (number, *rest), None)
    return StoredArray(name, _vector(_rows(path, name)).dtype.str, (number,), None)


def _vector(parts: Iterable[Any]) -> Any:
    """The numbers of an array of one a record; MATLAB has fractions for whole numbers, too."""
    values = np.concatenate([*parts]).reshape(-1)
    if values.dtype.kind != "f":
        return values
    are_whole = (abs(values) < _WHOLE) & (values == values.round())  # NaN is neither
    return values.astype("<i8") if are_whole.all() else values


def values_of(path: str, name: str) -> Iterator[bytes]:
    """An array's values, little-endian, in C order, some rows at a time.

    Args:
        path: Of the file.
        name: Of an array of `by_records`.

    Raises:
        RecordError: "damaged array"; "file too large" where they are far larger than the file.
    """
    parts = _rows(path, name)
    for rows in parts:
        is_vector = rows.size == len(rows)
        yield (_vector([rows, *parts]) if is_vector else np.ascontiguousarray(rows)).tobytes()


def _rows(path: str, name: str) -> Iterator[Any]:
    """An array's values, some rows at a time, little-endian."""
    is_last = name.endswith(_LAST)
    name = name.removesuffix(_LAST)
    with _opened(path) as (scipy, file):
        if scipy is None:  # axes are in reverse
            array = file[name]
            check_inflation(name, array.id.get_storage_size(), array.size * array.dtype.itemsize)
            number = array.shape[0 if is_last else -1]
        else:
            array = scipy.loadmat(file, variable_names=[name], mat_dtype=True)[name]
            array = np.moveaxis(array, -1, 0) if is_last else array
            number = len(array)
        step = max(1, BLOCK_BYTES * number // max(1, array.size * array.dtype.itemsize))
        for start in range(0, number, step):
            if scipy is not None:
                rows = array[start : start + step]
            elif is_last:
                rows = np.moveaxis(array[start : start + step].T, -1, 0)
            else:
                rows = array[..., start : start + step].T
            yield rows.astype(rows.dtype.newbyteorder("<"), copy=False)
