"""JSON objects in files: typed, bounded, and sealed by a checksum.

Files are untrusted: they must be regular and of bounded size, and values must have the expected
types; anything else is a JsonError. A sealed file ends with its own checksum, which detects any
changed byte:

{
  "name": "cells",
  "checksum": "<SHA-256 of the text with nothing between these quotes>"
}
"""

import dataclasses
import functools
import hashlib
import json
import os
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tfrecord_dataset import regular_files
from tfrecord_dataset.shown_text import printable

MAX_BYTES = 1 << 28
# Nesting depth of objects and lists; Python's own functions fail at about a thousand.
MAX_DEPTH = 100
# Numbers must fit int64.
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class JsonError(ValueError):
    """Invalid JSON; the message continues the file's name."""


def read_object(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Read the JSON object in a local file.

    Raises:
        FileNotFoundError: The file does not exist.
        JsonError: The file cannot be read, or `parse_object` refuses it.
    """
    try:
        data = regular_files.read_bytes(path, max_bytes)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise JsonError(f"it cannot be read: {error.strerror}") from error
    return parse_object(data)


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Parse the JSON object in UTF-8 text.

    Raises:
        JsonError: The text is not an object, has a duplicate name, or exceeds MAX_DEPTH.
    """
    try:
        text = data.decode() if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise JsonError(f"it is not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise _too_deep() from error
    except JsonError:
        raise
    except ValueError as error:
        reason = f"it is not JSON: {error}" if text.strip() else "it is empty"
        raise JsonError(reason) from error
    if not isinstance(value, dict):
        raise JsonError(f"it holds {_shown(value)}, not an object")
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return value
    raise _too_deep()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JsonError(f"it has the name {_shown(twice)} twice in one object")
    return made


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> JsonError:
    return JsonError(f"its objects and lists nest deeper than {MAX_DEPTH}")


def typed(value: Any, expected: Any, place: str = "") -> Any:
    """Convert a JSON value to a type: a list to a tuple, an object to a dataclass.

    Args:
        value: Parsed JSON.
        expected: A JSON type; `Any`; a union; a `list`, `tuple` or `Mapping` of such; or a
            dataclass of such. Errors of a dataclass's own checks pass through.
        place: Position in the file, such as `options.epochs`, for messages.

    Raises:
        JsonError: The value has another type, a missing or unknown field, or a number that is not
            finite or not an int64.
    """
    if expected is Any or (type(expected) is type and _is_plain(value, expected)):
        return value
    if type(expected) is types.UnionType:  # most, as statistics of features have unions
        return _one_of(value, expected.__args__, place)
    origin = typing.get_origin(expected)
    if origin is typing.Union:
        return _one_of(value, typing.get_args(expected), place)
    if isinstance(value, dict) and dataclasses.is_dataclass(expected):
        return _dataclass(value, expected, place)
    if isinstance(value, dict) and origin in (dict, Mapping):
        kind = typing.get_args(expected)[1]
        return {
            name: typed(each, kind, f"{place}.{name}".lstrip(".")) for name, each in value.items()
        }
    if isinstance(value, list) and (items := _list(value, expected, place)) is not None:
        return items
    if _is_plain(value, expected):
        return value
    raise JsonError(f"{place or 'it'} is {_shown(value)}, not {_in_words(expected)}")


def _list(value: list[Any], expected: Any, place: str) -> Any:
    """Convert a list to a list or tuple type; None if the type or length differs."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin in (list, Sequence):
        return list(_items(value, inner * len(value), place))
    if _is_named_tuple(expected):
        kinds = [*typing.get_type_hints(expected).values()]
        return expected(*_items(value, kinds, place)) if len(kinds) == len(value) else None
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else [*inner]
        return tuple(_items(value, kinds, place)) if len(kinds) == len(value) else None
    return None


def _one_of(value: Any, kinds: Sequence[Any], place: str) -> Any:
    if type(value) not in (list, dict):
        for kind in kinds:
            if _is_plain(value, kind):
                return value
    fitting = [kind for kind in kinds if _fits_outside(value, kind)]
    if len(fitting) == 1:  # its inner values may be wrong
        return typed(value, fitting[0], place)
    words = " or ".join(_in_words(kind) for kind in kinds)
    raise JsonError(f"{place or 'it'} is {_shown(value)}, not {words}")


def _fits_outside(value: Any, kind: Any) -> bool:
    if isinstance(value, list):
        return typing.get_origin(kind) in (list, tuple, Sequence) or _is_named_tuple(kind)
    if isinstance(value, dict):
        return typing.get_origin(kind) in (dict, Mapping) or dataclasses.is_dataclass(kind)
    return _is_plain(value, kind)


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_plain(value: Any, kind: Any) -> bool:
    if kind in (None, type(None)):
        return value is None
    if kind is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max  # not NaN
    return type(value) is kind and (kind is not int or _LEAST <= value <= _MOST)


def _items(values: list[Any], kinds: Sequence[Any], place: str) -> Iterable[Any]:
    for number, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        yield typed(value, kind, f"{place}[{number}]")


@functools.cache
def _fields_of(expected: Any) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return the types of a dataclass's fields by name, and the names of those without default."""
    hints = typing.get_type_hints(expected)
    fields = [field for field in dataclasses.fields(expected) if field.init]
    # MISSING is the same object.
    required = [field.name for field in fields if field.default is field.default_factory]
    return {field.name: hints[field.name] for field in fields}, required


def _dataclass(value: dict[str, Any], expected: Any, place: str) -> Any:
    kinds, required = _fields_of(expected)
    before = f"{place}." if place else ""
    for name in value:
        if name not in kinds:
            raise JsonError(f"{before}{name} is not known")
    for name in required:
        if name not in value:
            raise JsonError(f"{before}{name} is missing")
    return expected(
        **{name: typed(each, kinds[name], f"{before}{name}") for name, each in value.items()}
    )


def _in_words(kind: Any) -> str:
    """Describe a type in JSON's terms."""
    plain = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    if kind in plain:
        return plain[kind]
    if kind in (None, type(None)):
        return "null"
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"a list of {len(inner)}"
    if _is_named_tuple(kind):
        return f"a list of {len(kind._fields)}"
    return "a list" if origin in (list, tuple, Sequence) else "an object"


def _shown(value: Any) -> str:
    """Format a JSON value for a message, cut if long."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = json.dumps(value, default=repr)
    return text if len(text) <= 40 else f"{text[:37]}…"


_T = TypeVar("_T")

_KEY = "checksum"
_OPEN_END = f'"{_KEY}": ""\n}}\n'
_END = re.compile(rb'"checksum": "([0-9a-f]{64})"\n\}\n\Z')
_END_BYTES = len(_OPEN_END) + 64


def to_text(value: Mapping[str, Any]) -> str:
    """Serialize JSON in the format of a dataset's files.

    Raises:
        ValueError: A number is not finite.
    """
    return printable(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def sealed(value: Mapping[str, Any]) -> str:
    """Serialize an object as `to_text` does, with the checksum as its last key."""
    text = to_text({**value, _KEY: ""})
    checksum = _checksum(text.encode())
    return text.removesuffix(_OPEN_END) + _OPEN_END.replace('""', f'"{checksum}"')


def check_seal(data: bytes) -> None:
    """Check the bytes of a file against the checksum at their end.

    Raises:
        ValueError: They differ, or the checksum is missing.
    """
    end = _END.search(data[-_END_BYTES:])
    if end is None:
        raise ValueError("it does not end with its checksum: it was cut off or changed")
    stated = end[1].decode()
    actual = _checksum(data[:-_END_BYTES] + _OPEN_END.encode())
    if actual != stated:
        raise ValueError(
            f"its checksum is {actual}, not {stated} as stated: it was changed after it was written"
        )


def unsealed(data: bytes, kind: type[_T]) -> _T:
    """Parse the text of `sealed` as a dataclass of this kind.

    Raises:
        ValueError: The text was changed.
    """
    check_seal(data)
    stated = parse_object(data)
    del stated[_KEY]
    value: _T = typed(stated, kind)
    return value


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
