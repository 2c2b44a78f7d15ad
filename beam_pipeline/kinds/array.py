"""Arrays of numbers, inline or in files, and lists of strings: tensors and sequences."""

import dataclasses
import functools
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import hashed
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.kind import (
    Inspection,
    Kind,
    Rules,
    Stored,
    check_text,
    one,
    range_problem,
    values,
)
from beam_pipeline.kinds.media import one_shape, read_file
from beam_pipeline.kinds.moments import Moments
from beam_pipeline.kinds.numbers import (
    Rounding,
    cast,
    casts,
    check_number,
    in_range,
    little_endian,
    rounding,
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import between, shortened, unsupported
from beam_pipeline.media import numpy_files
from beam_pipeline.records import Array
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import STORED_INTEGERS, Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec, agrees, num_values

# Columns of a one-dimensional array with moments.
_MAX_COLUMNS = 1024
# Larger tensors are stored as one raw value, as parsing a list takes time per value.
_MAX_LISTED_VALUES = 256
_RAW_DTYPES = (*sorted(STORED_INTEGERS), "uint64", "float16", "float32", "float64")
# Raw dtypes that tf.io.decode_raw does not support; TFDS returns them as bytes.
_NOT_DECODED = frozenset({"uint32"})

_Strings = tuple[str, ...]


class ArrayKind(Kind[Array | _Strings]):
    """Arrays: type, shape and range. An array without axes becomes a number."""

    values = (Array, tuple)
    features = ("tensor", "sequence")
    types = ("array", "strings")
    dtypes = ("int64", "float32", "string")

    def check(
        self, name: str, value: Array | _Strings, inspection: Inspection
    ) -> Array | _Strings | int | float:
        if isinstance(value, tuple):
            for each in value:
                if not isinstance(each, str):
                    raise unsupported(value)
                check_text(name, each)
            inspection.num_bytes += sum(map(len, value)) + 2 * len(value)
            return value
        with naming(f"feature {name!r}"):
            measured, num_bytes = measure(value, inspection.read)
        conversions = measured.conversions if isinstance(measured, Array) else ()
        inspection.count("array", conversions, num_bytes)
        if isinstance(measured, int):
            check_number(name, measured)
        return measured

    def content(self, value: Array | _Strings) -> object:
        if isinstance(value, tuple):
            return value
        text = f"{value.dtype} {value.shape} {_sha256(value)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def inline_bytes(self, value: Array | _Strings) -> int:
        if isinstance(value, tuple):
            return sum(len(each) for each in value if isinstance(each, str))
        return len(value.data)

    def type_of(self, value: Array | _Strings) -> str:
        return "strings" if isinstance(value, tuple) else "array"

    def observe(self, value: Array | _Strings, source: str, observed: Observed) -> None:
        if isinstance(value, tuple):
            observed.measure("length", len(value))
            observed.add_strings(value)
            return
        observed.array_dtypes[value.dtype] += 1
        observed.add_shape(value.shape)
        observed.measure("length", value.shape[0])
        observed.add_list(value)
        rounded = Rounding(value.num_rounded, value.rounded)
        observed.num_numbers += math.prod(value.shape)
        observed.rounding = observed.rounding.merged(rounded)
        if len(value.shape) == 1 and value.shape[0] <= _MAX_COLUMNS and value.data:
            dtype = "uint8" if value.dtype == "bool" else value.dtype
            _count_row(np.frombuffer(value.data, little_endian(dtype)).tolist(), observed)
        else:
            observed.columns = None

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        """Return a tensor if all shapes are equal, a sequence if the first axis differs."""
        if "strings" in observed.types:
            return {"kind": "sequence", "dtype": "string", "shape": (None,)}
        dtype = functools.reduce(_wider, sorted(observed.array_dtypes))
        shape = one_shape(observed)
        if len(observed.ranks) > 1 or None in shape[1:]:
            sizes = [
                f"axis {axis}: {sorted(each)}" for axis, each in sorted(observed.sizes.items())
            ]
            raise DataError(
                f"feature {name!r} has arrays of shapes that differ in more than their first axis "
                f"({'; '.join(sizes)}; {sorted(observed.ranks)} axes); make the shapes equal"
            )
        listed = "int64" if dtype in STORED_INTEGERS else "float32"
        if shape[0] in (None, 0):  # all lists are empty, but longer ones may follow
            return {"kind": "sequence", "dtype": listed, "shape": (None, *shape[1:])}
        is_raw = dtype not in STORED_INTEGERS and dtype != "float32"
        if is_raw or num_values(shape) > _MAX_LISTED_VALUES:
            return {"dtype": dtype, "shape": shape, "encoding": "bytes"}
        return {"dtype": listed, "shape": shape}

    def dtypes_of(self, feature: Feature) -> Sequence[str]:
        return _RAW_DTYPES if feature.encoding == "bytes" else self.dtypes

    def fits(self, feature: Feature, value: Any) -> bool:
        if isinstance(value, tuple):
            return feature.dtype == "string" and _size_fits(feature, (len(value),))
        if isinstance(value, Array):
            low, high = value.minimum, value.maximum
            dtype, size_fits = value.dtype, _size_fits(feature, value.shape)
        elif isinstance(value, int | float) and feature.kind == "tensor":
            low = high = value
            dtype = "int64" if isinstance(value, int) else "float64"
            size_fits = not feature.shape
        else:
            return False
        return size_fits and casts(dtype, feature.dtype, low, high) and in_range(feature, low, high)

    def shown(self, value: Array | _Strings) -> str:
        if isinstance(value, tuple):
            return shortened(value)
        has_range = value.minimum is not None and value.maximum is not None
        numbers = f" from {value.minimum:g} to {value.maximum:g}" if has_range else ""
        return f"{value.dtype} {list(value.shape)}{numbers}"

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        if feature.kind == "sequence":
            row_size = math.prod(size for size in feature.shape if size is not None)
            if lengths := observed.list_span(num_records, max(1, row_size)):
                yield between(*lengths, "row" if feature.shape[1:] else "value")
        yield from super().summary(feature, observed, num_records)

    def type_words(self, feature: Feature) -> Iterator[str]:
        yield feature.dtype
        if feature.kind == "tensor" or feature.shape[1:]:
            yield str([*feature.shape]).replace("None", "n")
        if feature.encoding == "bytes":
            yield "as bytes"

    def payload(self, value: Array | _Strings, data: bytes, rules: Rules) -> bytes:
        assert isinstance(value, Array)
        return numpy_files.encode_array(data, value)

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        if isinstance(value, tuple):
            return {feature.key: [text.encode() for text in value]}
        if isinstance(value, Array):
            raw = stored.payloads.get(feature.name, value.data)
            array = np.frombuffer(raw, little_endian(value.dtype))
        else:
            assert isinstance(value, int | float)
            array = np.asarray([value])
        made = cast(feature, array)
        listed: Sequence[Any] = made.tolist() if feature.encoding != "bytes" else [made.tobytes()]
        return {feature.key: listed}

    def problem(self, feature: Feature, lists: Lists) -> str:
        if feature.encoding != "bytes":
            numbers = feature.dtype in ("int64", "float32")
            return range_problem(feature, values(lists, feature.key)) if numbers else ""
        data = one(lists, feature.key)
        dtype = little_endian(feature.dtype)
        num_bytes = num_values(feature.shape) * dtype.itemsize
        if len(data) != num_bytes:
            return (
                f"key {feature.key!r} holds {len(data):,} bytes, where {feature.dtype} "
                f"{list(feature.shape)} has {num_bytes:,}"
            )
        return range_problem(feature, np.frombuffer(data, dtype))

    def note(self, feature: Feature, lists: Mapping[str, Sequence[Any]]) -> str:
        """Return its type and shape."""
        sizes = [size for size in feature.shape if size is not None]
        if feature.kind == "sequence":
            if not sizes:
                return ""
            sizes.insert(0, len(lists.get(feature.key, ())) // math.prod(sizes))
        return f" ({feature.dtype} {'×'.join(map(str, sizes)) or 'scalar'})"

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        if feature.kind == "sequence":
            row = tfds_features.tensor(feature.dtype, feature.shape[1:])
            return tfds_features.sequence(row)
        if feature.encoding != "bytes":
            return tfds_features.tensor(feature.dtype, feature.shape)
        if feature.dtype in _NOT_DECODED:
            return tfds_features.text()
        return tfds_features.tensor(feature.dtype, feature.shape, "bytes")

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        length = {"length": "int64"} if feature.kind == "sequence" else {}
        is_file = not feature.bare and feature.dtype != "string"
        return {"sha256": "string", **length} if is_file else length

    def facts(self, value: Array | _Strings) -> Mapping[str, Any]:
        if isinstance(value, tuple):
            return {"length": len(value)}
        return {"sha256": _sha256(value), "length": value.shape[0]}


def _sha256(value: Array) -> str:
    return value.file.sha256 if value.file else hashlib.sha256(value.data).hexdigest()


def _size_fits(feature: Feature, shape: tuple[int, ...]) -> bool:
    if feature.dtype == "string":  # concatenated
        size = math.prod(size for size in feature.shape if size is not None)
        return shape[0] == size if feature.kind == "tensor" else shape[0] % size == 0
    return len(shape) == len(feature.shape) and agrees(feature.shape, shape)


def _count_row(numbers: list[Any], observed: Observed) -> None:
    """Count the moments of a row of numbers, one per column."""
    if observed.columns is None or len(observed.columns) not in (0, len(numbers)):
        observed.columns = None
        return
    observed.columns = observed.columns or [Moments() for _ in numbers]
    for column, number in zip(observed.columns, numbers, strict=True):
        column.extend((number,))


def _wider(one: str, other: str) -> str:
    """Return a dtype for both: int64 for integers, else float32."""
    if one == other:
        return one
    return "int64" if {one, other} <= STORED_INTEGERS else "float32"


def measure(
    array: Array, read: storage.ReadFile = storage.read_bytes
) -> tuple[Array | int | float, int]:
    """Return (`array` with facts about its values, its approximate stored size in bytes).

    An array without axes becomes a number.

    Raises:
        RecordError: The file cannot be used, or its values do not match its shape.
    """
    if array.file and (array.conversions or not array.dtype):
        data = read_file(read, array.file, numpy_files.check_start)
        measured, data = numpy_files.inspect_array(data, array.file)
    else:
        data = read_file(read, array.file) if array.file else array.data
        measured = _measured_values(array, data)
    if not measured.shape:
        number = _values(measured, data)[0].item()
        return int(number) if isinstance(number, bool) else number, 8
    if not np.can_cast(measured.dtype, np.float32):
        rounded = rounding(_values(measured, data))
        measured = dataclasses.replace(measured, **rounded._asdict())
    return measured, _stored_bytes(measured)


def _values(array: Array, data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(numpy_files.encode_array(data, array), little_endian(array.dtype))


def _measured_values(array: Array, data: bytes) -> Array:
    """Return `array` with facts about its values, given as raw `data`."""
    try:
        dtype = little_endian(array.dtype)
    except TypeError as error:
        raise RecordError(numpy_files.UNSUPPORTED, f"NumPy has no type {array.dtype!r}") from error
    numpy_files.check_numbers(dtype)
    expected = math.prod(array.shape) * dtype.itemsize
    if len(data) != expected:
        raise RecordError(
            numpy_files.DAMAGED,
            f"{len(data):,} bytes of values, where {array.dtype} {list(array.shape)} has "
            f"{expected:,}",
        )
    return dataclasses.replace(
        array,
        dtype=dtype.name,
        file=hashed(array.file, data) if array.file else None,
        **numpy_files.value_range(numpy_files.raw_values(data, dtype))._asdict(),
    )


def _stored_bytes(array: Array) -> int:
    """Estimate the bytes in an Example: as a list with one axis, usually raw with more."""
    dtype = np.dtype(array.dtype)
    size = math.prod(array.shape)
    if dtype.kind == "f" or len(array.shape) > 1:
        return size * dtype.itemsize
    low, high = int(array.minimum or 0), int(array.maximum or 0)
    return size * (10 if low < 0 else max(1, -(-high.bit_length() // 7)))  # a varint's
