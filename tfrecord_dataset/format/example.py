"""`tf.train.Example` without TensorFlow.

>>> from tfrecord_dataset.format.example import bytes_feature, int64_feature, serialize
>>> len(serialize({"image": bytes_feature(b"jpeg"), "label": int64_feature(3)}))
37

Bytes equal TensorFlow's own with `deterministic=True`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf import unknown_fields
from google.protobuf.message import DecodeError

from tfrecord_dataset.errors import RecordError
from tfrecord_dataset.format import example_keys
from tfrecord_dataset.format.example_encoding import FeatureValue as FeatureValue
from tfrecord_dataset.format.example_encoding import encode as encode
from tfrecord_dataset.format.example_encoding import encode_columns as encode_columns
from tfrecord_dataset.format.example_messages import BytesList as BytesList
from tfrecord_dataset.format.example_messages import Example as Example
from tfrecord_dataset.format.example_messages import Feature as Feature
from tfrecord_dataset.format.example_messages import Features as Features
from tfrecord_dataset.format.example_messages import FloatList as FloatList
from tfrecord_dataset.format.example_messages import Int64List as Int64List

# Not np.bytes_, whose `item` drops zeros at the end.
_NUMPY_SCALARS = (np.number, np.bool_)


def bytes_feature(value: object) -> Any:
    """A Feature with a bytes list.

    Args:
        value: Bytes, or text, which is stored as UTF-8; or a list, tuple or NumPy array of
            those, arrays in C order. Numbers as raw bytes: pass `array.tobytes()`.

    Raises:
        RecordError: "unsupported value": of another type. "not UTF-8": text that has none.
    """
    return Feature(bytes_list=BytesList(value=_flat(value, "SUO", _bytes, "bytes or text")))


def float_feature(value: object) -> Any:
    """A Feature with a list of 32-bit floats, to which longer ones are rounded.

    Args:
        value: A number, of Python's or NumPy's, NaN and infinity too; or a list, tuple or NumPy
            array of them, arrays in C order.

    Raises:
        RecordError: "unsupported value": of another type. "value out of range": beyond the
            largest float of 32 bits, which TensorFlow would store as infinity.
    """
    return Feature(float_list=FloatList(value=_rounded(_flat(value, "fiub", _float, "numbers"))))


def int64_feature(value: object) -> Any:
    """A Feature with a list of 64-bit ints.

    Args:
        value: A whole number or bool, of Python's or NumPy's; or a list, tuple or NumPy array
            of them, arrays in C order. Floats are refused, 3.0 too.

    Raises:
        RecordError: "unsupported value": of another type. "value out of range": beyond 64 bits.
    """
    values = _flat(value, "iub", _int, "whole numbers")
    try:
        return Feature(int64_list=Int64List(value=values))
    except ValueError as error:
        raise RecordError("value out of range", f"int64_feature: {error}") from error


def serialize(features: Mapping[str, Any]) -> bytes:
    """The bytes of an Example of such features by name, as a TFRecord file holds them.

    The same features give the same bytes, whatever their order.

    Raises:
        RecordError: "unsupported value": something is not a Feature.
    """
    for name, feature in features.items():
        if not isinstance(feature, Feature):
            raise RecordError(
                "unsupported value",
                f"feature {name!r} is {_shown(feature)}; make it with bytes_feature, "
                "float_feature or int64_feature",
            )
    example = Example(features=Features(feature=features))
    data: bytes = example.SerializeToString(deterministic=True)
    return data


def _flat(value: object, kinds: str, convert: Callable[[object], Any], wanted: str) -> list[Any]:
    """The values of `value`, one after the other, as Python's own types.

    Args:
        value: One value, a sequence of them, or an array.
        kinds: NumPy's letters for the dtypes of arrays that will do; an array without values
            may have any.
        convert: Makes a value what the list holds; None where it cannot.
        wanted: What `convert` takes, for messages.
    """
    single = isinstance(value, str | bytes | bytearray | memoryview)
    if not single and hasattr(value, "__array__"):  # TensorFlow's eager tensors too
        array = np.asarray(value)
        if not array.size:
            return []
        if array.dtype.kind not in kinds:
            raise RecordError(
                "unsupported value", f"an array of dtype {array.dtype}, where {wanted} are needed"
            )
        values: Sequence[Any] = array.ravel().tolist()
    else:
        values = value if isinstance(value, Sequence) and not single else [value]
        values = [each.item() if isinstance(each, _NUMPY_SCALARS) else each for each in values]
    converted = [convert(each) for each in values]
    for number, each in enumerate(converted):
        if each is None:
            where = f" at index {number}" if len(converted) > 1 else ""
            raise RecordError(
                "unsupported value",
                f"{_shown(values[number])}{where}, where {wanted} are needed",
            )
    return converted


def _shown(value: object) -> str:
    """`value` and its type, for messages."""
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise RecordError("not UTF-8", f"{value!a}") from error
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def _float(value: object) -> float | None:
    if not isinstance(value, float | int | np.longdouble):
        return None
    try:
        return float(value)
    except OverflowError as error:
        raise RecordError("value out of range", f"float_feature: {_shown(value)}") from error


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, int) else None


def _rounded(values: list[float]) -> list[float]:
    """`values` as floats of 32 bits have them."""
    wide = np.asarray(values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(np.float32)
    if (lost := np.isinf(narrow) & np.isfinite(wide)).any():
        raise RecordError(
            "value out of range",
            f"float_feature: {wide[lost][0]:g} is beyond the {np.finfo(np.float32).max:g} that a "
            "float of 32 bits holds",
        )
    rounded: list[float] = narrow.tolist()
    return rounded


def decode(data: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """The values of a serialized Example by key, keys sorted.

    Raises:
        ValueError: `data` is not an Example.
    """
    return {key: list(values) for key, (_, values) in sorted(lists(data).items())}


def lists(data: bytes, keys: Iterable[str] | None = None) -> dict[str, tuple[str, Sequence[Any]]]:
    """The (kind, values) of a serialized Example by key, in no order; of `keys` alone if given.

    The kind is "bytes", "float32" or "int64", or "" of a feature without one. The values are
    not copied.

    Raises:
        ValueError: `data` is not an Example, or one of too many keys.
    """
    found = features_of(data)
    if keys is None:
        return {key: _list(feature) for key, feature in found.items()}
    return {key: _list(found[key]) for key in keys if key in found}


def features_of(data: bytes) -> Mapping[str, Any]:
    """The Features of a serialized Example by key, in no order.

    Raises:
        ValueError: As `lists`.
    """
    if example_keys.has_too_many(data):
        raise ValueError(f"an Example has {example_keys.TOO_MANY}")
    try:
        example = Example.FromString(data)
    except DecodeError as error:
        raise ValueError(f"not a tf.train.Example: {error}") from error
    if len(unknown_fields.UnknownFieldSet(example)):
        raise ValueError("not a tf.train.Example; perhaps a tf.train.SequenceExample")
    found: Mapping[str, Any] = example.features.feature
    return found


def _list(feature: Any) -> tuple[str, Sequence[Any]]:
    match feature.WhichOneof("kind"):
        case "int64_list":
            return "int64", feature.int64_list.value
        case "float_list":
            return "float32", feature.float_list.value
        case "bytes_list":
            return "bytes", feature.bytes_list.value
    return "", ()
