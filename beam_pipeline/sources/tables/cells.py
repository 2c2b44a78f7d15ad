"""Prepare cells: missing values, decimal commas, paths from templates, objects as JSON text."""

import dataclasses
import json
import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.tables.labels import class_name, classes_marked
from beam_pipeline.sources.tables.names import there_are
from beam_pipeline.sources.tables.options import TableOptions

_NUMBER = re.compile(r"#\d+$")
# May have points between thousands.
_DECIMAL_COMMA = re.compile(r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+")


@dataclasses.dataclass(frozen=True)
class Cells:
    """Preparation of cells before conversion.

    Attributes:
        missing: Texts that mean a missing value.
        column: The column that gets the path from `template`; "" for none.
        template: The path in parts: literal text and the column after it, "" for none.
        decimal_comma: Whether "1,5" is a number.
        numbered: A column whose values end with the number of the row, "x.jpg#0"; "" for none.
        classes: Columns of one class each with 1, and 0 or -1; replaced by `label`, a column with
            the names of a row's classes.
        as_json: Columns of objects, which become JSON text.
    """

    missing: frozenset[str] = frozenset()
    column: str = ""
    template: tuple[tuple[str, str], ...] = ()
    decimal_comma: bool = False
    numbered: str = ""
    as_json: frozenset[str] = frozenset()
    classes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The column that replaces `classes`; "" if there are none."""
        few = (*self.classes[:2], "…", self.classes[-1]) if self.classes[4:] else self.classes
        return ", ".join(few)

    def names(self, names: Iterable[str]) -> dict[str, None]:
        """Return the columns after preparation."""
        kept = [name for name in names if name not in self.classes]
        return dict.fromkeys(filter(None, (*kept, self.column, self.label)))

    def prepare(self, columns: dict[str, list[Any]], missing: str | None) -> None:
        """Prepare the cells of rows in place; `missing` replaces missing values."""
        num_rows = len(next(iter(columns.values()), ()))
        for name, values in columns.items():
            for change in self._changes(name, missing):
                values = list(map(change, values))
            columns[name] = values
        if self.classes and columns:
            has_classes = any(name in columns for name in self.classes)
            marks = [columns.pop(name, [missing] * num_rows) for name in self.classes]
            columns[self.label] = [
                classes_marked(self.classes, values) if has_classes else missing
                for values in zip(*marks, strict=True)
            ]
        if self.column and columns:
            used = [name for _, name in self.template if name]
            parts = [map(class_name, columns.get(name, [None] * num_rows)) for name in used]
            columns[self.column] = [self._path(texts) for texts in zip(*parts, strict=True)]

    def _changes(self, name: str, missing: str | None) -> Iterator[Callable[[Any], Any]]:
        """Yield the functions to apply to each value of a column, in order."""
        if name in self.as_json:
            yield json_text
        if self.missing:
            yield lambda value: missing if _text(value) in self.missing else value
        if self.decimal_comma:
            yield _with_point
        if self.numbered and name == self.numbered:
            yield lambda value: _NUMBER.sub("", value)

    def _path(self, texts: Sequence[str]) -> str:
        if not all(texts):
            return ""
        behind = iter(texts)
        return "".join(literal + (next(behind) if name else "") for literal, name in self.template)


def json_text(value: Any) -> str | None:
    """Return a value as JSON; None if it is missing."""
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _with_point(value: Any) -> Any:
    is_number = _DECIMAL_COMMA.fullmatch(text := _text(value))
    return text.replace(".", "").replace(",", ".") if is_number else value


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def cells(options: TableOptions, names: Collection[str]) -> Cells:
    """Make the preparation of a table with columns `names` from options.

    Raises:
        ConfigError: The template of image paths cannot be used.
    """
    made = Cells(frozenset(options.missing_values), decimal_comma=options.decimal_comma)
    template, column, why = options.image_template, options.image_column or "image", ""
    if not template:
        return made
    try:
        parts = [(text, name or "") for text, name, *_ in string.Formatter().parse(template)]
    except ValueError as error:
        why = f"{error}; write a brace itself as {{{{ or }}}}"
        raise ConfigError(f"image_template {template!r} cannot be used: {why}") from error
    used = [name for _, name in parts if name]
    if unknown := [name for name in used if name not in names]:
        why = f"{unknown[0]!r} is not a column; {there_are(unknown[0], names)}"
    elif not used:
        why = "it names no column; write it as '{id}.png'"
    elif column in names and column not in used:
        why = f"there is a column {column!r} already; name the column of the path by --image-column"
    if why:
        raise ConfigError(f"image_template {template!r} cannot be used: {why}")
    return dataclasses.replace(made, column=column, template=tuple(parts))
