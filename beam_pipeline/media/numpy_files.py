"""Array files: checked by `inspect_array`, stored by `encode_array`.

Rules, in this order:

1. The first bytes distinguish a .npy file, of format version 1, 2 or 3, from an .npz file, which
   must hold one array.
2. The values are bool, integers, or floats of up to 64 bits. Arrays of Python objects are pickled:
   reading them could run programs, so they are never read. Structured arrays are rejected.
3. The values are little-endian and in C order. Others are rejected.
4. The file is exactly as long as its header says.
5. Unless compressed, the stored values are a range of the file's bytes.

Source of the format: numpy.lib.format.
"""

import dataclasses
import io
import math
import sys
from collections.abc import Iterable
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.archive_backend import Index
from beam_pipeline.files.archive.content import content_offset, whole
from beam_pipeline.files.archive.member_paths import MemberLocation, top_of
from beam_pipeline.files.archive.members import MAX_NPZ_INDEX_BYTES, zip_members
from beam_pipeline.files.hashed import IN_MEMORY, hashed
from beam_pipeline.records import Array, FileRef
from tfrecord_dataset.format.inflation import check_inflation

# Reasons of `Rejected`, counted in metadata.json.
EMPTY = "empty file"
NOT_AN_ARRAY = "not an array"
TRUNCATED = "truncated array"
DAMAGED = "damaged array"
PICKLED = "pickled array"
TOO_LARGE = "array too large"
UNSUPPORTED = "unsupported array"

_NPZ = b"PK\x03\x04"
_NPY_SUFFIX = ".npy"
# Bytes of all values; TensorFlow cannot read an Example of twice this size.
MAX_BYTES = 1 << 30
_MAX_HEADER_BYTES = 1 << 16
_NUMBERS = "biuf"

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ArrayHeader:
    """The header of a .npy file.

    Attributes:
        dtype: Little-endian; possibly text, complex numbers, times, ….
        offset: Bytes from the start of the header to the values.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @property
    def num_bytes(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


class ValueRange(NamedTuple):
    """Range of an array's numbers, as in `records.Array`."""

    minimum: float | int | None = None
    maximum: float | int | None = None
    finite_range: tuple[float | None, float | None] | None = None
    not_finite: int = 0


def array_header(handle: IO[bytes]) -> ArrayHeader:
    """Read the header of a .npy file, and leave `handle` at the values.

    Raises:
        RecordError: "not an array", "truncated array", "damaged array", "pickled array" or
            "unsupported array".
    """
    start = handle.tell()
    try:
        magic = handle.read(npy_format.MAGIC_LEN)
        if not magic.startswith(npy_format.MAGIC_PREFIX):
            raise RecordError(NOT_AN_ARRAY, f"a file that begins with {magic!r}")
        version = tuple(magic[-2:])
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise RecordError(UNSUPPORTED, f"version {'.'.join(map(str, version))} of .npy")
        # Version 3 only differs from 2 in the names of a structured array's fields.
        first = version == (1, 0)
        read = npy_format.read_array_header_1_0 if first else npy_format.read_array_header_2_0
        stated = handle.read(2 if first else 4)
        # NumPy would read a header of 4 GiB before checking its size.
        header_bytes = min(int.from_bytes(stated, "little"), _MAX_HEADER_BYTES)
        shape, fortran_order, dtype = read(io.BytesIO(stated + handle.read(header_bytes)))
    except RecordError:
        raise
    except Exception as error:  # a hostile header may raise anything
        cut = str(error).startswith("EOF")
        raise RecordError(TRUNCATED if cut else DAMAGED, f"its header: {error}") from error
    if dtype.hasobject:
        raise RecordError(
            PICKLED,
            "its values are Python objects; save numbers with allow_pickle=False, and lists of "
            "several lengths as a column of a .jsonl file",
        )
    if dtype.fields is not None or dtype.subdtype is not None or dtype.kind == "V":
        raise RecordError(
            UNSUPPORTED, f"a structured array ({dtype}); save each field as its own array"
        )
    if any(size < 0 for size in shape):
        raise RecordError(DAMAGED, f"its header: a shape of {shape}")
    if fortran_order and sum(size != 1 for size in shape) > 1:
        raise RecordError(
            UNSUPPORTED, "an array in Fortran order; save numpy.ascontiguousarray(array)"
        )
    little = dtype.newbyteorder("<")
    if dtype != little:
        raise RecordError(
            UNSUPPORTED, f"big-endian values ({dtype.str}); save array.astype({little.str!r})"
        )
    return ArrayHeader(dtype=dtype, shape=tuple(map(int, shape)), offset=handle.tell() - start)


def check_start(data: bytes) -> None:
    """Check the first bytes of a .npy or .npz file, as `array_header` does."""
    if not data.startswith(_NPZ):
        array_header(io.BytesIO(data))


def check_length(header: ArrayHeader, num_bytes: int) -> None:
    """Check that a .npy file of `num_bytes` bytes ends with its values."""
    lacking = header.offset + header.num_bytes - num_bytes
    if lacking > 0:
        raise RecordError(TRUNCATED, f"{lacking:,} of {header.num_bytes:,} bytes are missing")
    if lacking < 0:
        raise RecordError(
            DAMAGED, f"{-lacking:,} bytes follow the values; save one array per file, once"
        )


def array_files(path: str) -> dict[str, str]:
    """Map the arrays of the .npz file at `path` by name to the paths of their .npy files.

    Raises:
        RecordError: "empty file", "unsupported array", or the file cannot be read.
    """
    if not storage.read_start(path, 1):
        raise RecordError(EMPTY, "the file has no bytes")
    return _by_name((file.relative, file.path) for file in storage.list_files(top_of(path)))


def _by_name(members: Iterable[tuple[str, _T]]) -> dict[str, _T]:
    """Map the arrays of an .npz file by name to its .npy members."""
    arrays = {
        name.removesuffix(_NPY_SUFFIX): where
        for name, where in members
        if name.endswith(_NPY_SUFFIX)
    }
    if not arrays:
        raise RecordError(UNSUPPORTED, "an .npz without arrays")
    return arrays


def inspect_array(data: bytes, file: FileRef = IN_MEMORY) -> tuple[Array, bytes]:
    """Check a whole .npy or .npz file with one array of numbers, and measure its values.

    Returns:
        The array, whose file is the range of its values, or all of `file` if compressed; and the
        bytes of that range.

    Raises:
        RecordError: As `array_header`; "empty file", "array too large".
    """
    if not data:
        raise RecordError(EMPTY, "the file has no bytes")
    start, compressed, npy = 0, False, data
    if data.startswith(_NPZ):
        place, npy = _only_member(data)
        start, compressed = content_offset(io.BytesIO(data), place), place.method == "deflated"
    header, values = _values(npy)
    offset, length = (0, len(data)) if compressed else (start + header.offset, header.num_bytes)
    stored = data[offset : offset + length]
    part = FileRef(path=file.path, offset=file.offset + offset, length=length)
    array = Array(
        dtype=header.dtype.name,
        shape=header.shape,
        file=hashed(part, stored),
        **value_range(values)._asdict(),
        conversions=("compressed",) if compressed else (),
    )
    return array, stored


def encode_array(data: bytes, array: Array) -> bytes:
    """Return the values to store for an inspected array, whose `file` contains `data`."""
    if not array.conversions:
        return data
    _, npy = _only_member(data)
    header, _ = _values(npy)
    return npy[header.offset :]


def value_range(values: npt.NDArray[Any]) -> ValueRange:
    """Return the range of the values, as Python numbers."""
    if not values.size:
        return ValueRange()
    if values.dtype.kind in "biu":
        return ValueRange(int(values.min()), int(values.max()))
    minimum, maximum = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    if np.isnan(minimum):
        return ValueRange(not_finite=values.size)
    finite = values[np.isfinite(values)]
    is_finite = np.isfinite(minimum) and np.isfinite(maximum)
    return ValueRange(
        minimum.item(),
        maximum.item(),
        finite_range=None if is_finite else value_range(finite)[:2],
        not_finite=values.size - finite.size,
    )


def check_numbers(dtype: np.dtype[Any]) -> None:
    """Raise RecordError for values that no feature can hold: text, complex numbers, times."""
    if dtype.kind not in _NUMBERS or dtype.itemsize > 8:
        raise RecordError(
            UNSUPPORTED, f"values of type {dtype}; use bool, integers or floats of up to 64 bits"
        )


def raw_values(data: bytes, dtype: np.dtype[Any], offset: int = 0) -> npt.NDArray[Any]:
    """View the numbers in `data` from `offset` on, [n]; raise RecordError for invalid bools."""
    values = np.frombuffer(data, dtype, offset=offset)
    if dtype.kind == "b" and values.size and values.view(np.uint8).max() > 1:
        raise RecordError(DAMAGED, "bools that are neither 0 nor 1")
    return values


def texts_or_numbers(data: bytes, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """View the values in `data`, [n]; raise RecordError for text beyond Unicode."""
    values = np.frombuffer(data, dtype)
    if dtype.kind == "U" and values.size and values.view(np.uint32).max() > sys.maxunicode:
        raise RecordError(DAMAGED, "text with numbers beyond Unicode")
    return values


def _values(npy: bytes) -> tuple[ArrayHeader, npt.NDArray[Any]]:
    """(header, values [n]) of a whole .npy file."""
    header = array_header(io.BytesIO(npy))
    check_numbers(header.dtype)
    if header.num_bytes > MAX_BYTES:
        raise RecordError(
            TOO_LARGE, f"{header.num_bytes:,} bytes of values, more than the {MAX_BYTES:,} allowed"
        )
    check_length(header, len(npy))
    return header, raw_values(npy, header.dtype, header.offset)


def _only_member(data: bytes) -> tuple[MemberLocation, bytes]:
    """Return the location and the checked content of the only array in an .npz file."""
    members = list(zip_members(io.BytesIO(data), MAX_NPZ_INDEX_BYTES))
    Index(members)  # checks them
    arrays = _by_name((name, place) for name, place in members if place)
    [(name, place), *others] = arrays.items()
    if others:
        names = ", ".join([*arrays][:10])
        raise RecordError(
            UNSUPPORTED,
            f"an .npz with {len(arrays)} arrays ({names}), where one is needed; give the .npz as "
            "the input itself to read it row by row",
        )
    if place.length > MAX_BYTES:
        raise RecordError(TOO_LARGE, f"{place.length:,} bytes, more than the {MAX_BYTES:,} allowed")
    check_inflation(".npz", place.packed, place.length, in_a_record=True)
    return place, whole(place, name, lambda offset, length: data[offset : offset + length])
