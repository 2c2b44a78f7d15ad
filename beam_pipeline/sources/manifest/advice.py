"""What the first rows of a table show that its reader takes otherwise than a user may mean."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.media.volumes import refusal
from beam_pipeline.sources.columns.kinds import kind_of_text
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.whereabouts import Whereabouts
from beam_pipeline.sources.references import parent

_MISSING = frozenset({"na", "n/a", "n.a.", "null", "none", "nil", "missing", "unknown", "?", "-"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_SEPARATORS = " |;,"
_FEWEST_TAGGED = 4


def check_no_shapes(table: str, names: Iterable[str]) -> None:
    """Raises ConfigError for VIA's and SpaceNet's own tables, whose shapes would be texts."""
    if "PolygonWKT_Pix" in names:
        raise ConfigError(
            f"{table} is SpaceNet's own table, whose polygons are texts in a column; give the "
            "folder of it and of the images: the message then has the command that makes masks "
            "of them"
        )
    if "region_shape_attributes" in names:
        raise ConfigError(
            f"{table} is VIA's own table, whose shapes are JSON in a column; pass --layout via"
        )


def check_no_volumes(table: str, texts: Mapping[str, Sequence[str]]) -> None:
    """Raises ConfigError where a column names scans in formats that nothing here reads."""
    for name, values in texts.items():
        if problem := all(map(refusal, zip(values))) and refusal(values):
            raise ConfigError(
                f"{table}: column {name!r} names files that are not read: {problem}; or leave it "
                f"out by --ignore-columns {shlex.quote(name)}"
            )


def advice(texts: Mapping[str, Sequence[str]], labels: Iterable[str]) -> Iterator[str]:
    """What a user may want to know of columns, with the option that reads them otherwise.

    Args:
        texts: Values by column, each once.
        labels: The columns that are classes.
    """
    for name, values in texts.items():
        if missing := _hide_numbers(values):
            yield (
                f"column {name!r} is text, since {missing[0]!r} is among its numbers; if that "
                f"stands for no number, pass --missing-values {shlex.quote(','.join(missing))} and "
                "--missing-numbers nan"
            )
        elif values and all(map(_DECIMAL_COMMA.fullmatch, values)):
            yield (
                f"column {name!r} is text, since its numbers have a comma, such as {values[0]!r}; "
                "if it is the decimal one, pass --decimal-comma"
            )
    for name in labels:
        if tagged := _tagged(texts.get(name, ())):
            yield (
                f"column {name!r} has several words a row, such as {tagged!r}, and each "
                "combination is one class; for several classes per record, pass --label-separator "
                f"{next(repr(each) for each in _SEPARATORS if each in tagged)}"
            )


def _hide_numbers(values: Sequence[str]) -> list[str]:
    """The texts that stand for no number, in a column of numbers but for them."""
    missing = [value for value in values if value.lower() in _MISSING]
    others = [value for value in values if value.lower() not in _MISSING]
    are_numbers = bool(others) and {kind_of_text(value) for value in others} <= {int, float}
    return missing if are_numbers else []


def _tagged(values: Sequence[str]) -> str:
    """A value that combines tags which other values combine otherwise; "" where none does."""
    for separator in _SEPARATORS:
        several = [value for value in values if separator in value]
        if len(several) * 2 < len(values) or len(values) < _FEWEST_TAGGED:
            continue
        tags = {tag.strip() for value in values for tag in value.split(separator)}
        if len(tags) < len(values):
            return several[0]
    return ""


def places_told(table: Manifest, found: Whereabouts) -> str:
    """What a user is told of the files that were found."""
    root = f"{table.root.rstrip('/')}/"
    if found.folders == (parent(table.root),):
        return f"paths in column {found.column!r} of {table.relative} begin with the input's name"
    star = found.between and f"*{found.between}"
    inner = [f"{each}/".removeprefix(root) + star or "the same folder" for each in found.folders]
    shown = ", ".join(inner[:3]) + (", …" if inner[3:] else "")
    behind = f", with .{found.suffix} behind them" if found.suffix else ""
    return f"column {found.column!r} of {table.relative} names the files in {shown}{behind}"
