"""Elements of a source as lines of JSON, without default values."""

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from beam_pipeline.files import storage
from beam_pipeline.outlines import Boxes, Outlines
from beam_pipeline.records import Array, Deferred, Element, FileRef, Record, Rejected
from cases.reading import values_of
from tfrecord_dataset.shown_text import reading_order

# The name depends on the input's path and time.
_UNPACKED = re.compile(r"(\.scratch)/[0-9a-f]{32}")
_MOST_BYTES = 200  # in a range of a file


class Shown:
    """Formats the values of an input below `root`."""

    def __init__(self, root: Path) -> None:
        self._root, self._beside = str(root), str(root.parent)

    def text(self, text: str) -> str:
        """Remove the path of the input from a text."""
        text = _UNPACKED.sub(r"\1/unpacked", text)
        return text.replace(self._root, "INPUT").replace(self._beside, "INPUT/..")

    def records(self, elements: Iterable[Element]) -> str:
        """A line for each record, by key, below those for classes."""
        return self._lines(element for element in elements if not isinstance(element, Rejected))

    def rejects(self, elements: Iterable[Element]) -> str:
        """A line for each reject, by source."""
        return self._lines(element for element in elements if isinstance(element, Rejected))

    def _lines(self, elements: Iterable[Element]) -> str:
        lines = sorted((_place(element), self._line(element)) for element in elements)
        return "".join(f"{line}\n" for _, line in lines)

    def _line(self, element: Element) -> str:
        shown = self._fields(element)
        if isinstance(element, Record) and element.source == element.key:
            del shown["source"]
        return json.dumps(shown, ensure_ascii=False)

    def _fields(self, value: Any) -> dict[str, Any]:
        fields = ((each, getattr(value, each.name)) for each in dataclasses.fields(value))
        return {
            each.name: self._value(field) for each, field in fields if not _is_default(each, field)
        }

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case bytes():
                return {"bytes": value.decode(errors="backslashreplace")}
            case dict():
                return {str(key): self._value(each) for key, each in value.items()}
            case list() | tuple() | Boxes() | Outlines():
                return [self._value(each) for each in value]
            case FileRef(offset=0, length=None):
                return self._value(value.path)
            case FileRef():
                data = storage.read_bytes(value)
                place = f"{self.text(value.path)}[{value.offset}:{value.offset + len(data)}]"
                shown = data[:_MOST_BYTES].decode(errors="backslashreplace")
                return [place, shown]
            case Deferred():
                return {"Deferred": self._value(value.read(storage.read_bytes(value.file)))}
            case Array(file=None):
                return {value.dtype: values_of(value).tolist()}
        if dataclasses.is_dataclass(value):
            fields = self._fields(value)
            alone = len(dataclasses.fields(value)) == 1 or fields.keys() == {"file"}
            return {type(value).__name__: next(iter(fields.values())) if alone else fields}
        return value


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    if field.default_factory is not dataclasses.MISSING:
        return bool(value == field.default_factory())
    return value == field.default and type(value) is type(field.default)


def _place(element: Element) -> str:
    if isinstance(element, Rejected):
        return reading_order(element.source)
    return reading_order(element.key) if isinstance(element, Record) else ""
