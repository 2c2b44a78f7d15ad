"""The signs of each layout at the top of a tree.

Each `find_…` takes a tree and the folder in it to look at, and returns (path, what was seen) pairs,
the path relative to the tree: none where there is no such layout, several where it is not clear
which is meant.
"""

import contextlib
import re
import zlib
from collections.abc import Iterable, Sequence

from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.coco.files import find_coco_files
from beam_pipeline.sources.folders import has_split_folders, main_kind
from beam_pipeline.sources.paths import (
    ARRAY_SUFFIXES,
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    folder,
    has_image_suffix,
    is_split_name,
    media_kind,
    split_at,
    stem,
    suffix,
    uncompressed,
)
from beam_pipeline.sources.tree import Listing, Tree, joined, shown
from beam_pipeline.sources.voc.sets import is_set_name
from beam_pipeline.sources.yolo.config import NAME_LISTS, find_data_yaml, read_data_yaml

Found = list[tuple[str, str]]

_PEEKED_BYTES = 4096
_PEEKED_FILES = 5
_COCO_KEY = re.compile(rb'"(images|annotations|categories|info|licenses)"\s*:')
_YOLO_LINE = re.compile(rb"\s*\d+(\.0*)?([ \t]+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*?(\n|$)")
_MEDIA_NAME = re.compile(
    rf"\.({'|'.join(sorted(IMAGE_SUFFIXES | AUDIO_SUFFIXES | ARRAY_SUFFIXES))})\b".encode(),
    re.IGNORECASE,
)
# Folders of images and sounds, and of what goes with them, are no classes.
_NO_CLASSES = frozenset(
    {"images", "image", "imgs", "img", "jpegimages", "pictures", "photos", "labels", "masks"}
    | {"annotations", "segmentationclass", "segmentationobject", "data"}
    | {"audio", "wav", "wavs", "sounds", "clips", "recordings", "arrays"}
)
# What may lie beside a table that is the data itself.
_BESIDE_TABLES = frozenset(
    {"", "csv", "tsv", "jsonl", "ndjson", "json", "yaml", "yml", "txt", "md", "rst", "html", "pdf"}
)


def find_folders(tree: Tree, top: str) -> Found:
    """Images, sounds or arrays in class folders, perhaps below folders of splits; or flat."""
    files = [
        joined(relative, name)[len(joined(top, "")) :]
        for relative, listing in tree.walk(top)
        for name in listing.files
        if media_kind(name)
    ]
    kind = main_kind(files)
    inside = [file for file in files if media_kind(file) == kind and folder(file)]
    holders = {file.split("/")[0] for file in inside}
    if has_split_folders(inside):
        splits = sorted(holders)
        classes = {name for split in splits for name in tree.look(joined(top, split)).folders}
        if classes and not _no_classes(classes):
            return [(top, f"{shown(sorted(classes), 'class folder')} in {', '.join(splits)}")]
    elif not _no_classes(holders) and not all(map(is_split_name, holders)):
        return [(top, shown(tree.look(top).folders, "class folder"))]
    elif not top and kind != "array" and (place := _flat(files, tree.look())) is not None:
        what = {"audio": "sound"}.get(kind, kind)  # arrays lie so where each has many rows
        return [(place, f"{_count(len(files), what)} without class folders, so without labels")]
    return []


def _flat(files: Sequence[str], listing: Listing) -> str | None:
    """The folder of all files, if that is the top, or its only one and called like images."""
    places = {folder(file) for file in files}
    alone = places == set(listing.folders) and _no_classes(places)
    return places.pop() if len(places) == 1 and (alone or places == {""}) else None


def _no_classes(names: Iterable[str]) -> bool:
    return all(name.lower() in _NO_CLASSES for name in names)


def find_voc(tree: Tree, top: str) -> Found:
    """XML files with the root <annotation>, below Annotations/ or anywhere."""
    folders = dict(tree.walk(top))
    counts = {
        relative: len(files)
        for relative, listing in folders.items()
        if (files := [name for name in listing.files if suffix(name) == "xml"])
        and b"<annotation" in peek(tree.path(joined(relative, files[0])))
    }
    named = {path: count for path, count in counts.items() if split_at(f"{path}/", "annotations")}
    if not (counts := named or counts):
        return []
    sets = {
        stem(name)
        for relative, listing in folders.items()
        if split_at(f"{relative}/", "imagesets")
        for name in listing.files
        if suffix(name) == "txt" and is_set_name(stem(name))
    }
    if {"train", "val"} <= sets:
        sets.discard("trainval")  # as `voc_sets.choose_lists` does
    what = f"{_count(sum(counts.values()), 'XML file')} in {_places(counts)}"
    return [(top, what + (f", image sets {', '.join(sorted(sets))}" if sets else ""))]


def find_yolo(tree: Tree, top: str) -> Found:
    """A data.yaml; or text files of YOLO's lines in labels/ or beside their images."""
    files = tree.look(top).files
    if path := find_data_yaml(tree.path(top), files):
        return [(top, f"{path.rpartition('/')[2]}{_yaml_summary(path)}")]
    counts = {
        relative: len(names)
        for relative, listing in tree.walk(top)
        if (names := _label_files(relative, listing))
        and any(
            _YOLO_LINE.match(peek(tree.path(joined(relative, name))))
            for name in names[:_PEEKED_FILES]
        )
    }
    if not counts:
        return []
    names = [f"class names in {name}" for name in NAME_LISTS if name in files]
    what = f"{_count(sum(counts.values()), 'label file')} in {_places(counts)}"
    return [(top, f"{what}, {names[0] if names else 'no class names'}")]


def _yaml_summary(path: str) -> str:
    """What a data.yaml says; nothing if it is unusable: reading it tells why."""
    try:
        config = read_data_yaml(path)
    except ConfigError:
        return ""
    classes = f" with {_count(len(config.names), 'class')}" if config.names else ""
    return classes + (f", splits {', '.join(config.splits)}" if config.splits else "")


def _label_files(relative: str, listing: Listing) -> list[str]:
    names = [name for name in listing.files if suffix(name) == "txt" and name not in NAME_LISTS]
    if split_at(f"{relative}/", "labels"):
        return names
    images = {stem(name) for name in listing.files if has_image_suffix(name)}
    return [name for name in names if stem(name) in images]


def find_coco(tree: Tree, top: str) -> Found:
    """JSON files with COCO's keys, in annotations/, at the top or one folder below."""
    listing = tree.look(top)
    candidates = [
        joined(joined(top, inner), name) if inner else joined(top, name)
        for inner in ("", *sorted(listing.folders, key=lambda name: name.lower() != "annotations"))
        for name in tree.look(joined(top, inner) if inner else top).files
        if suffix(name) == "json"
    ]
    if not any(is_coco(tree.path(path)) for path in candidates[:_PEEKED_FILES]):
        return []
    try:
        files, _ = find_coco_files(tree.path(top), None)
    except ConfigError:
        return []
    usable = [file for file in files if is_coco(file.path)]
    what = ", ".join(file.relative + (f" ({file.split})" if file.split else "") for file in usable)
    if len(usable) == 1 < len(files):
        return [(joined(top, usable[0].relative), what)]
    return [(top, what)] if usable else []


def is_coco(path: str) -> bool:
    """Whether a JSON file begins as COCO's do."""
    return _COCO_KEY.search(peek(path)) is not None


def find_manifests(tree: Tree, top: str, suffixes: tuple[str, ...]) -> Found:
    """Hugging Face's metadata files, or files of these suffixes that name media, or tables."""
    metadata = f"metadata.{suffixes[0]}"
    listing = tree.look(top)
    if metadata in listing.files:
        return [(joined(top, metadata), metadata)]
    holders = [name for name in listing.folders if metadata in tree.look(joined(top, name)).files]
    if holders and all(map(is_split_name, holders)):
        return [(top, f"{metadata} in {', '.join(holders)}")]
    tables = [name for name in listing.files if suffix(uncompressed(name)) in suffixes]
    names = [
        name for name in tables if _MEDIA_NAME.search(_peek_text(tree.path(joined(top, name))))
    ]
    if not names and all(
        suffix(uncompressed(name)) in _BESIDE_TABLES
        for _, below in tree.walk(top)
        for name in below.files
    ):
        names = tables
    if len(names) > 1 and all(is_split_name(stem(uncompressed(name))) for name in names):
        return [(top, ", ".join(names))]
    return [(joined(top, name), name) for name in names]


def _peek_text(path: str) -> bytes:
    """The first bytes of a manifest, which may be compressed."""
    data = peek(path)
    if path != uncompressed(path):
        with contextlib.suppress(zlib.error):
            data = zlib.decompressobj(wbits=31).decompress(data, _PEEKED_BYTES)
    return data


def peek(path: str) -> bytes:
    """The first bytes of a file; none, if it cannot be read."""
    try:
        if storage.is_remote(path):
            with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as handle:
                return bytes(handle.read(_PEEKED_BYTES))
        with open(path, "rb") as handle:
            return handle.read(_PEEKED_BYTES)
    except (OSError, BeamIOError):
        return b""


def _count(number: int, noun: str) -> str:
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def _places(relatives: Iterable[str]) -> str:
    paths = [f"{path}/" if path else "the top folder" for path in relatives]
    return ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
