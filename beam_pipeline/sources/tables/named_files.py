"""Find the column that names files elsewhere in the input, or make a column of a template."""

import dataclasses
import json
import re
import string
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.problems import ignoring
from beam_pipeline.sources.file_index import FileIndex
from beam_pipeline.sources.paths import folder, joined, media_kind, suffix
from beam_pipeline.sources.tables import usual_columns as known
from beam_pipeline.sources.tables.sample import Sample
from beam_pipeline.sources.tables.table import Batch, Cells, Table
from beam_pipeline.sources.tables.usual_columns import TableOptions, lowered, there_are

_LONGEST_NAME = 255
_FRACTION = re.compile(r"[-+]?\d*\.\d*([eE][-+]?\d+)?")
# Minimum share of values that must match files: of any column, of one named after ids or files, and
# of names with a suffix.
_SHARE, _SHARE_OF_IDS, _SHARE_OF_NAMES = 0.9, 0.1, 0.5


def cells_of(options: TableOptions, names: Collection[str]) -> Cells:
    """Make the preparation of a table with columns `names` from options.

    Raises:
        ConfigError: The template of image paths cannot be used.
    """
    made = Cells(frozenset(options.missing_values))
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
        why = (
            f"there is a column {column!r} already; name another with --image-column {column}_path"
        )
    if why:
        raise ConfigError(f"image_template {template!r} cannot be used: {why}")
    return dataclasses.replace(made, column=column, template=tuple(parts))


class _Names(NamedTuple):
    """A column of names of files elsewhere in the input."""

    num_files: int
    has_suffixes: bool  # ids have none
    column: str
    kind: str
    unclear: Sequence[str]  # files that the same value matches


def with_files(sample: Sample, options: TableOptions) -> Sample:
    """Resolve files of the sample's tables with the file index, if needed."""
    has_files = any(each.media and each.exists for each in sample.columns.values())
    files = {feature.name for feature in options.schema if feature.kind in ("image", "audio")}
    if has_files or options.image_template or (options.schema and not files):
        return sample
    left_out = {*options.ignore_columns, *options.labels, options.split_column}
    left_out |= {feature.name for feature in options.schema if feature.name not in files}
    pairs = zip(sample.tables, sample.rows, strict=True)
    candidates = [_names_in(table, rows, left_out) for table, rows in pairs]
    best = max(filter(None, candidates), key=lambda each: each[:2], default=None)
    if not best:
        return sample
    tables, kinds = [], {}
    for table, each in zip(sample.tables, candidates, strict=True):
        if not each:
            raise ConfigError(
                f"{table.file.path}: column {best.column!r} names no file below {table.file.root}, "
                f"as it does in another table; put its files there, or, if there are none, pass "
                f"{ignoring(table.file.relative)}"
            )
        if each.unclear:
            one, other = sorted(each.unclear)[:2]
            raise ConfigError(
                f"{table.file.path}: column {each.column!r} names {one} and {other}; in a recipe: "
                f"`image_template: {_template_of(one, each)}` or "
                f"`image_template: {_template_of(other, each)}`"
            )
        column, cells = each.column, table.cells
        if not each.has_suffixes and each.kind not in sample.names:  # the id stays a feature
            template = (("", column), ("", ""))
            cells = dataclasses.replace(cells, column=each.kind, template=template)
            column = each.kind
        kinds[column] = each.kind
        file = dataclasses.replace(table.file, by_index=True)
        tables.append(dataclasses.replace(table, file=file, cells=cells))
    return Sample(tables, sample.raw, kinds)


def _template_of(path: str, names: _Names) -> str:
    """Return the template of files like this one, quoted for YAML."""
    ending = "" if names.has_suffixes else f".{suffix(path)}"
    return json.dumps(f"{joined(folder(path), f'{{{names.column}}}')}{ending}", ensure_ascii=False)


def _names_in(table: Table, rows: Batch, left_out: Collection[str]) -> _Names | None:
    """Return the column of a table that names the most files below the input."""
    columns = {
        name: distinct
        for name, values in rows.columns.items()
        if name not in left_out and lowered(name) not in known.LABELS.lists_of_record
        if (distinct := _possible_names(name, values))
    }
    if not columns:
        return None  # the folder, which may be a whole bucket, is not listed
    index = FileIndex.of(table.file.root, table.file.ignored)
    if not len(index):
        return None
    found = []
    for name, distinct in columns.items():
        has_suffixes = any(map(media_kind, distinct))
        matches = [index.matches(value, table.file.near) for value in distinct]
        there = [each for each in matches if each]
        least = _SHARE_OF_NAMES if has_suffixes else _SHARE_OF_IDS if _is_of_files(name) else _SHARE
        if there and len(there) >= least * len(matches):
            kind = Counter(media_kind(each[0]) for each in there).most_common(1)[0][0]
            unclear = next((each for each in there if each[1:]), ())
            found.append(_Names(len(there), has_suffixes, name, kind, unclear))
    return max(found, key=lambda each: each[:2], default=None)


def _possible_names(column: str, values: Sequence[Any]) -> Sequence[str]:
    """Return the distinct values of a column that may name files; none if it cannot."""
    texts = (str(each).strip() for each in values if isinstance(each, str | int))
    stated = [*filter(None, texts)]
    distinct = sorted(set(stated))
    if any(map(media_kind, distinct)) or _is_of_files(column):
        return distinct
    # Numbers of rooms, or kinds, may match names of files by chance; fractions and texts do not.
    are_unlike = len(distinct) < len(stated) or any(len(each) > _LONGEST_NAME for each in distinct)
    return [] if are_unlike or all(map(_FRACTION.fullmatch, distinct)) else distinct


def _is_of_files(column: str) -> bool:
    return is_id(column) or lowered(column) in (*known.IMAGE, *known.AUDIO)


def is_id(name: str) -> bool:
    """Return whether a column is named after ids."""
    return lowered(name).endswith("id")


def files_understood(sample: Sample) -> Iterator[tuple[str, str]]:
    """Describe how each table names its files."""
    for table in sample.tables:
        if table.file.by_index:
            made_of = [name for _, name in table.cells.template if name]
            column = next(iter(made_of or sample.found))
            yield "paths", f"by the names in column {column!r} of {table.file.relative}"
