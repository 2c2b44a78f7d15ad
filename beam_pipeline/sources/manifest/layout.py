"""The layouts `csv` and `jsonl`: a manifest of files, or a table that is the data itself."""

import contextlib
import re

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.compressed import is_compressed
from beam_pipeline.sources.beside import may_hold_data
from beam_pipeline.sources.columns.column import TableOptions
from beam_pipeline.sources.layout import Layout, Place, read_by
from beam_pipeline.sources.manifest.files import find_manifests
from beam_pipeline.sources.manifest.read import ReadCsv, ReadManifest
from beam_pipeline.sources.manifest.read_json import ReadJsonl, place_of_rows
from beam_pipeline.sources.manifest.workbook import ReadXlsx
from beam_pipeline.sources.paths import (
    ARRAY_SUFFIXES,
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    is_submission,
    joined,
    media_kind,
    stem,
    suffix,
    uncompressed,
)
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.split_names import is_split
from tfrecord_dataset.store.urls import unsigned

_MEDIA_NAME = re.compile(
    rf"\.({'|'.join(sorted(IMAGE_SUFFIXES | AUDIO_SUFFIXES | ARRAY_SUFFIXES))})\b".encode(),
    re.IGNORECASE,
)
_TEXT_BYTES = 4096
_OF_AUTOML = re.compile(rb"[A-Z]+,gs://")  # of Google, in a bucket
# What may lie beside a table that is the data itself.
_BESIDE_TABLES = frozenset({
    "", "csv", "tsv", "jsonl", "ndjson", "json", "yaml", "yml", "txt", "md", "rst", "xlsx", "html",
    "pdf", "names",
})  # fmt: skip


def find_tables(tree: Tree, suffixes: tuple[str, ...]) -> list[Place]:
    """Hugging Face's metadata files, or files of these suffixes that name media, or tables."""
    metadata = f"metadata.{suffixes[0]}"
    listing = tree.look()
    if metadata in listing.files and _is_of_hugging_face(tree, metadata):
        return [Place(metadata, metadata, has_usual_name=True, files=(metadata,))]
    holders = [name for name in sorted(tree.first_folders()) if metadata in tree.look(name).files]
    if (
        holders
        and all(map(is_split, holders))
        and _is_of_hugging_face(tree, joined(holders[0], metadata))
    ):
        what = f"{metadata} in {', '.join(holders)}"
        files = tuple(joined(name, metadata) for name in holders)
        return [Place("", what, has_usual_name=True, files=files)]
    if of_folders := tables_of_folders(tree):
        what = f"a table in each of {len(of_folders)} folders, such as {of_folders[0]}"
        named = suffix(of_folders[0]) in suffixes
        return [Place("", what, has_usual_name=True, files=of_folders, tables=of_folders)] * named
    tables = [
        name
        for name in listing.files
        if suffix(uncompressed(name)) in suffixes and _has_rows(tree.path(name))
    ]
    if any(map(media_kind, tree.files())):  # else the images are in the bucket
        tables = [name for name in tables if not _OF_AUTOML.match(tree.head(name))]
    if any(map(_holds_data, tree.files())):
        tables = [name for name in tables if not is_submission(name)]
    names = [name for name in tables if _MEDIA_NAME.search(_first_text(tree, name))]
    if not names and all(suffix(uncompressed(name)) in _BESIDE_TABLES for name in tree.files()):
        names = tables
    if 1 < len(names) == len(splits_of_tables(names)):
        return [Place("", ", ".join(names), files=tuple(names))]
    if len(names) == 1:
        return [Place("", names[0], files=tuple(names), tables=tuple(names))]
    return [Place(name, name, files=(name,)) for name in names]


def tables_of_folders(tree: Tree, top: str = "") -> tuple[str, ...]:
    """Tables of the files beside them that are called after their folders: 00000/GT-00000.csv.

    Args:
        tree: Where they are looked for.
        top: The folder of the folders, each of which must have one.
    """
    found: list[str] = []
    for place in tree.look(top).folders:
        home = joined(top, place)
        own = [name for name in tree.look(home).files if stem(name).endswith(f"-{place}")]
        tables = [name for name in own if suffix(name) in ReadCsv.suffixes]
        if len(tables) != 1:
            return ()
        found.append(joined(home, tables[0]))
    starts = [tree.head(name) for name in found[:2]]
    alike = len({start.partition(b"\n")[0] for start in starts}) == 1
    return tuple(found) if found[1:] and alike and _MEDIA_NAME.search(starts[0]) else ()


def _holds_data(name: str) -> bool:
    """Whether a file beside what a competition wants is what it gives."""
    return not is_submission(name) and (may_hold_data(name) or bool(media_kind(name)))


def _has_rows(path: str) -> bool:
    """Whether the file of a table's suffix is one; of .json files those that begin so."""
    name = uncompressed(unsigned(path))
    return suffix(name) != "json" or place_of_rows(path) is not None


def _is_of_hugging_face(tree: Tree, path: str) -> bool:
    """Whether metadata.csv names files, as Hugging Face asks; others are called so, too."""
    text = _first_text(tree, path)
    names_files = b"file_name" in text or bool(_MEDIA_NAME.search(text))
    return names_files or not any(map(media_kind, tree.files()))


def _first_text(tree: Tree, name: str) -> bytes:
    """The first bytes of a manifest, which may be compressed."""
    if not is_compressed(name):
        return tree.head(name)
    with (
        contextlib.suppress(RecordError),
        storage.decompressed(tree.path(name)) as content,
    ):
        return bytes(content.read(_TEXT_BYTES))
    return b""


def table_layout(
    name: str, sign: str, suffixes: tuple[str, ...], source: type[ReadManifest]
) -> Layout:
    """The layout of one kind of table.

    Args:
        name: What `--layout` calls it.
        sign: What tells it, as an error says it.
        suffixes: Those that tell it where nobody says so.
        source: Reads it.
    """
    return Layout(
        name=name,
        sign=sign,
        kind="manifest",
        **read_by(source),
        suffixes=suffixes,
        begins=_has_rows,
        find=lambda tree: find_tables(tree, suffixes),
        accept=lambda folder: find_manifests(folder, suffixes, TableOptions())[0].relative,
    )


CSV = table_layout(
    "csv",
    "one .csv or .tsv file that names images, audio or arrays, or that holds all data itself",
    ("csv", "tsv"),
    ReadCsv,
)
JSONL = table_layout(
    "jsonl",
    "one such .jsonl or .ndjson file, or a .json file that is a list of objects",
    ReadJsonl.suffixes,
    ReadJsonl,
)
XLSX = table_layout("xlsx", "one .xlsx file", ReadXlsx.suffixes, ReadXlsx)
