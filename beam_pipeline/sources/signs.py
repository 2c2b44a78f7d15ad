"""The signs of each layout at the top of a tree.

Each `find_…` takes a tree and the folder in it to look at, and returns (path, what was seen) pairs,
the path relative to the tree: none where there is no such layout, several where it is not clear
which is meant.
"""

import re
from collections.abc import Iterable

from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems

from beam_pipeline import storage
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.coco_files import find_coco_files
from beam_pipeline.sources.folders import has_split_folders
from beam_pipeline.sources.paths import (
    IMAGE_SUFFIXES,
    has_image_suffix,
    is_split_name,
    split_at,
    stem,
    suffix,
)
from beam_pipeline.sources.tree import Listing, Tree, joined, shown
from beam_pipeline.sources.voc_sets import is_set_name
from beam_pipeline.sources.yolo_config import NAME_LISTS, find_data_yaml, read_data_yaml

Found = list[tuple[str, str]]

_PEEKED_BYTES = 4096
_PEEKED_FILES = 5
_COCO_KEY = re.compile(rb'"(images|annotations|categories|info|licenses)"\s*:')
_YOLO_LINE = re.compile(rb"\s*\d+(\.0*)?([ \t]+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*?(\n|$)")
_IMAGE_NAME = re.compile(rf"\.({'|'.join(sorted(IMAGE_SUFFIXES))})\b".encode(), re.IGNORECASE)
# Folders of pictures, and of what goes with them, are no classes.
_NO_CLASSES = frozenset(
    {"images", "image", "imgs", "img", "jpegimages", "pictures", "photos", "labels", "masks"}
    | {"annotations", "segmentationclass", "segmentationobject", "data"}
)


def find_folders(tree: Tree, top: str) -> Found:
    """Images in class folders, perhaps below folders of splits."""
    images = [
        joined(relative, next(filter(has_image_suffix, listing.files)))[len(joined(top, "")) :]
        for relative, listing in tree.walk(top)
        if relative != top and any(map(has_image_suffix, listing.files))
    ]
    holders = {image.split("/")[0] for image in images}
    if has_split_folders(images):
        splits = sorted(holders)
        classes = {name for split in splits for name in tree.look(joined(top, split)).folders}
        if classes and not _no_classes(classes):
            return [(top, f"{shown(sorted(classes), 'class folder')} in {', '.join(splits)}")]
    elif not _no_classes(holders) and not all(map(is_split_name, holders)):
        return [(top, shown(tree.look(top).folders, "class folder"))]
    return []


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
    """Hugging Face's metadata files, or files of these suffixes that name images."""
    metadata = f"metadata.{suffixes[0]}"
    listing = tree.look(top)
    if metadata in listing.files:
        return [(joined(top, metadata), metadata)]
    holders = [name for name in listing.folders if metadata in tree.look(joined(top, name)).files]
    if holders and all(map(is_split_name, holders)):
        return [(top, f"{metadata} in {', '.join(holders)}")]
    names = [
        name
        for name in listing.files
        if suffix(name) in suffixes and _IMAGE_NAME.search(peek(tree.path(joined(top, name))))
    ]
    if len(names) > 1 and all(is_split_name(stem(name)) for name in names):
        return [(top, ", ".join(names))]
    return [(joined(top, name), name) for name in names]


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
