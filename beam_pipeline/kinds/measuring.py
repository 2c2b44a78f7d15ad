"""What the values of an array tell, inline or in a file: type, shape and range."""

import math

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.files import hashed, read_file
from beam_pipeline.kinds.numbers import little_endian
from beam_pipeline.media import arrays
from beam_pipeline.media.npz import DAMAGED, UNSUPPORTED
from beam_pipeline.records import Array, FileRef

# Arrays of more axes are stored raw, as a rule; others as lists.
_LISTED_AXES = 1


def measure(
    array: Array, read: storage.ReadFile = storage.read_bytes
) -> tuple[Array | int | float, int]:
    """(`array` with all that its values tell, about how many bytes it takes where it is stored).

    An array without axes is the number that it holds.

    Raises:
        RecordError: The file cannot be read or used (`media.arrays.inspect_array`), or there are
            more or fewer values than the shape says.
    """
    if array.file is None:
        measured, data = _measured_values(array, array.data), array.data
    else:
        is_values = array.dtype and not array.conversions
        data = read_file(read, array.file, None if is_values else arrays.check_start)
        if is_values:
            measured = _measured_values(array, data)
        else:
            measured, data = _measured_file(array.file, data)
    if measured.shape:
        return measured, _stored_bytes(measured)
    value = np.frombuffer(arrays.encode_array(data, measured), little_endian(measured.dtype))[0]
    number = value.item()
    return int(number) if isinstance(number, bool) else number, 8


def _measured_file(file: FileRef, data: bytes) -> tuple[Array, bytes]:
    """(the array in a .npy or .npz file, what its `file` refers to)."""
    facts = arrays.inspect_array(data)
    stored = data[facts.offset : facts.offset + facts.length]
    part = FileRef(path=file.path, offset=file.offset + facts.offset, length=facts.length)
    measured = Array(
        dtype=facts.dtype,
        shape=facts.shape,
        file=hashed(part, stored),
        **facts.range._asdict(),
        conversions=facts.conversions,
    )
    return measured, stored


def _measured_values(array: Array, data: bytes) -> Array:
    """`array`, whose raw values `data` are."""
    try:
        dtype = little_endian(array.dtype)
    except TypeError as error:
        raise RecordError(UNSUPPORTED, f"NumPy has no type {array.dtype!r}") from error
    arrays.check_numbers(dtype)
    expected = math.prod(array.shape) * dtype.itemsize
    if len(data) != expected:
        raise RecordError(
            DAMAGED,
            f"{len(data):,} bytes of values, where {array.dtype} {list(array.shape)} has "
            f"{expected:,}",
        )
    return Array(
        dtype=dtype.name,
        shape=array.shape,
        data=array.data,
        file=hashed(array.file, data) if array.file else None,
        **arrays.value_range(arrays.raw_values(data, dtype))._asdict(),
    )


def _stored_bytes(array: Array) -> int:
    """About how many bytes the values take in an Example: as a list, or raw."""
    dtype = np.dtype(array.dtype)
    size = math.prod(array.shape)
    if dtype.kind == "f" or len(array.shape) > _LISTED_AXES:
        return size * dtype.itemsize
    low, high = int(array.minimum or 0), int(array.maximum or 0)
    return size * (10 if low < 0 else max(1, -(-high.bit_length() // 7)))  # a varint's
