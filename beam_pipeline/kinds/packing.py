"""Values as tuples of their fields, and back: a third of the time and half of the bytes of objects.

A labelled image takes 3.3 µs out and 4.4 in, in 173 bytes; as objects 6.8, 12.7 and 348.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from beam_pipeline import kinds
from beam_pipeline.records import FileRef

_CLASSES = tuple(
    each for kind in kinds.KINDS for each in kind.values if dataclasses.is_dataclass(each)
)
_CODES = {each: code for code, each in enumerate(_CLASSES)}
_FIELDS = {
    each: tuple(field.name for field in dataclasses.fields(each)) for each in (*_CLASSES, FileRef)
}


class Packed(NamedTuple):
    """Values, to be pickled.

    Attributes:
        values: By feature; what is no class of `records` is as it was.
        codes: Of the others, which class they are of.
    """

    values: dict[str, Any]
    codes: dict[str, int]


def pack(values: Mapping[str, Any]) -> Packed:
    """Inspected values, packed."""
    packed, codes = dict(values), {}
    for name, value in values.items():
        code = _CODES.get(type(value))
        if code is not None:
            codes[name] = code
            fields = value.__dict__
            if (file := fields.get("file")) is not None:
                fields = {**fields, "file": tuple(file.__dict__.values())}
            packed[name] = tuple(fields.values())
    return Packed(packed, codes)


def unpack(packed: Packed) -> dict[str, Any]:
    """The values that `pack` packed."""
    values, codes = packed
    for name, code in codes.items():
        value = _made(_CLASSES[code], values[name])
        if (file := value.__dict__.get("file")) is not None:
            value.__dict__["file"] = _made(FileRef, file)
        values[name] = value
    return values


def _made(cls: type, fields: tuple[Any, ...]) -> Any:
    """An object of a dataclass without slots; its `__init__` would take four times as long."""
    made: Any = object.__new__(cls)
    made.__dict__.update(zip(_FIELDS[cls], fields, strict=True))
    return made
