"""Which table of a tree tells of its files, and what reads it: tried before it is named."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.manifest.first_rows import first_rows
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl, ReadManifest
from beam_pipeline.sources.manifest.whereabouts import as_arguments, texts_of, whereabouts
from beam_pipeline.sources.paths import media_kind, stem, suffix
from beam_pipeline.sources.references import parent
from beam_pipeline.sources.tree import Tree

_SOURCES: dict[str, type[ReadManifest]] = {
    **dict.fromkeys(("csv", "tsv", "txt"), ReadCsv),
    **dict.fromkeys(("jsonl", "ndjson"), ReadJsonl),
}
_NO_LABELS = re.compile("submi(t|ssion)", re.IGNORECASE)
_MAX_TABLES = 20
_FILES = 10
_MAX_SPACES = 2  # in a class's name, on average


class Proposal(NamedTuple):
    """A table that names files of a tree.

    Attributes:
        number: How many of its first files are there.
        path: Of the table.
        options: What reads it, by name.
        has_labels: Whether it tells classes or boxes of the files.
    """

    number: int
    path: str
    options: Mapping[str, str]
    has_labels: bool

    def __str__(self) -> str:
        """ "give labels.csv with --label-column breed"."""
        typed = as_arguments(self.options)
        return f"give {shlex.quote(self.path)}" + (f" with {typed}" if typed else "")


def proposed_table(tree: Tree) -> Proposal | None:
    """The table of a tree that tells most of its files; None where none names them."""
    names = [*tree.outside, *tree.files()]
    tables = [
        storage.join(tree.root, name)
        for name in names
        if suffix(name) in _SOURCES and not _NO_LABELS.search(name)
    ]
    tables.sort(key=lambda path: (path.count("/"), path))
    found = [each for path in tables[:_MAX_TABLES] if (each := _proposal(tree, path))]
    return max(found, key=_rank, default=None)


def _rank(proposal: Proposal) -> tuple[bool, bool, int]:
    return proposal.has_labels, stem(proposal.path).lower() == "train", proposal.number


def _proposal(tree: Tree, path: str) -> Proposal | None:
    source = _SOURCES[suffix(path)]
    try:
        texts = texts_of(first_rows(source(path).tables()[0]))
        if (named := _files_named(tree, parent(path), texts)) is None:
            return None
        column, number, options = named
        others = {name: values for name, values in texts.items() if name != column}
        columns = source(path, **options).job().questions.columns
        if not _has_labels(columns) and (name := _label(others)):
            options["label_column"] = name
            columns = source(path, **options).job().questions.columns
    except BeamTFRecordsError:
        return None
    if not columns.media:
        return None
    layout = {"layout": "csv"} if suffix(path) == "txt" else {}
    return Proposal(number, path, {**layout, **options}, _has_labels(columns))


def _files_named(
    tree: Tree, folder: str, texts: Mapping[str, Sequence[str]]
) -> tuple[str, int, dict[str, Any]] | None:
    """A column that names files, how many of them are there, and the options that find them."""
    for column, values in texts.items():
        paths = [storage.join(folder, value) for value in values[:_FILES] if media_kind(value)]
        if number := sum(map(storage.exists, paths)):
            return column, number, {}
    found = whereabouts(tree, texts)
    if found is None:
        return None
    options = found.options(folder)
    is_found = options or (found.folder == folder and not found.suffix)
    return (found.column, found.number, options) if is_found else None


def _has_labels(columns: Columns) -> bool:
    return bool(columns.labels or columns.corners or columns.boxes)


def _label(texts: Mapping[str, list[str]]) -> str:
    """The only column, if it may be of classes: not of sentences, nor of ids."""
    if len(texts) != 1:
        return ""
    [(name, values)] = texts.items()
    has_sentences = sum(value.count(" ") for value in values) > _MAX_SPACES * len(values)
    return "" if has_sentences or name.lower().endswith("id") else name
