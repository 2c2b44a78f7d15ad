"""What layout lies at a path, found by looking at the top of its tree."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NoReturn

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources import container_signs, signs
from beam_pipeline.sources.arrays.files import is_array
from beam_pipeline.sources.coco.files import find_coco_files
from beam_pipeline.sources.manifest.files import find_manifests
from beam_pipeline.sources.paths import is_split_name, media_kind, stem, suffix, uncompressed
from beam_pipeline.sources.tar.read import is_tar, refuse_compressed
from beam_pipeline.sources.tree import Tree, joined, shown

# What tells a layout, as an error says it.
LOOKED_FOR = {
    "folders": "images, sounds or arrays in one folder a class, or images or sounds in one folder",
    "coco": "annotations/instances_*.json, <split>/_annotations.coco.json, another COCO .json",
    "voc": "Annotations/*.xml, or .xml files beside their images",
    "yolo": "a data.yaml, or .txt files in labels/ or beside their images",
    "csv": "one .csv or .tsv file that names images, sounds or arrays, or holds all data itself",
    "jsonl": "one .jsonl or .ndjson file of that sort",
    "tar": ".tar files",
    "arrays": ".npz or .npy files, not in one folder a class",
    "tfrecord": "files that begin as TFRecord files do",
}
_FINDERS: dict[str, Callable[[Tree, str], signs.Found]] = {
    "folders": signs.find_folders,
    "coco": signs.find_coco,
    "voc": signs.find_voc,
    "yolo": signs.find_yolo,
    "csv": functools.partial(signs.find_manifests, suffixes=("csv", "tsv")),
    "jsonl": functools.partial(signs.find_manifests, suffixes=("jsonl", "ndjson")),
    "tar": container_signs.find_tars,
    "arrays": container_signs.find_arrays,
    "tfrecord": container_signs.find_tfrecords,
}
_LAYOUT_OF_SUFFIX = {
    "csv": "csv",
    "tsv": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "coco",
    "yaml": "yolo",
    "yml": "yolo",
    "tar": "tar",
    "npz": "arrays",
    "npy": "arrays",
}
# Layouts of files that hold many records each: a pattern may name several.
_CONTAINERS = ("tar", "arrays", "tfrecord")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A layout, and where it lies.

    Attributes:
        name: One of LOOKED_FOR.
        path: What its `Read…` transform takes: an absolute folder, file, or pattern of files.
        found: What was seen, in one sentence: "voc: 364 XML files in Annotations/, …".
    """

    name: str
    path: str
    found: str


def detect(path: str) -> Layout:
    """The layout at `path`, from the names in its top folders and the start of a few files.

    Annotations beside images (voc, yolo, coco) win over a manifest, and a manifest over class
    folders and over files of many records each, which a pattern may name. In a folder that holds
    but one other, as a zip's contents often do, the layout may lie one level deeper.

    Raises:
        ConfigError: There is no such path, nothing known in it, or more than one layout.
    """
    absolute = _existing(path)
    if not storage.is_directory(absolute):
        return _of_file(absolute) if storage.exists(absolute) else _of_pattern(absolute)
    tree = Tree(absolute)
    found = _only(_layouts(tree, ""), path)
    return found or _give_up(f"cannot tell the layout of {path}", tree)


def resolve(path: str, layout: str) -> Layout:
    """The layout at `path`, of which is known that it is `layout`: it need not look typical.

    Raises:
        ConfigError: There is no such path, no such layout, or nothing of it at the path.
    """
    if layout not in LOOKED_FOR:
        raise ConfigError(f"--layout {layout!r} is unknown; choose from {', '.join(LOOKED_FOR)}")
    absolute = _existing(path)
    if not storage.is_directory(absolute):
        is_yaml = _LAYOUT_OF_SUFFIX.get(suffix(absolute)) == "yolo"
        if layout in ("folders", "voc") or (layout == "yolo" and not is_yaml):
            raise ConfigError(f"--layout {layout} wants a folder, and {path} is a file")
        if layout not in _CONTAINERS and not storage.exists(absolute):
            raise ConfigError(f"--layout {layout} takes no pattern of files, such as {path}")
        return Layout(name=layout, path=absolute, found=f"{layout}: {_name(absolute)}")
    tree = Tree(absolute)
    return (
        _only(_find(layout, tree, ""), path)
        or _as_told(layout, absolute)
        or _give_up(f"--layout {layout} does not fit {path}", tree, layout)
    )


def _existing(path: str) -> str:
    absolute = storage.absolute(path).rstrip("/") or "/"
    if storage.exists(absolute) or storage.is_directory(absolute):
        return absolute
    if not set("*?[") & set(absolute) or not storage.match_files(absolute):
        raise ConfigError(f"the input {path!r} does not exist (looked at {absolute})")
    return absolute


def _find(name: str, tree: Tree, top: str) -> list[Layout]:
    return [
        Layout(name=name, path=tree.path(relative), found=f"{name}: {what}")
        for relative, what in _FINDERS[name](tree, top)
    ]


def _layouts(tree: Tree, top: str) -> list[Layout]:
    for names in (("voc", "yolo", "coco"), ("csv", "jsonl")):
        if found := [layout for name in names for layout in _find(name, tree, top)]:
            return found
    if found := [layout for name in _CONTAINERS for layout in _find(name, tree, top)]:
        return found + _find("folders", tree, top)
    listing = tree.look(top)
    alone = len(listing.folders) == 1 and not any(map(media_kind, listing.files))
    inner = _layouts(tree, joined(top, listing.folders[0])) if alone else []
    return inner or _find("folders", tree, top)


def _only(layouts: list[Layout], path: str) -> Layout | None:
    if len(layouts) > 1:
        raise ConfigError(
            f"{path} can be read in {len(layouts)} ways: "
            + "; ".join(layout.found for layout in layouts)
            + f"; {_choice(layouts)}"
        )
    return layouts[0] if layouts else None


def _choice(layouts: Sequence[Layout]) -> str:
    """How a user says which of several layouts is meant."""
    if len({layout.name for layout in layouts}) > 1:
        return "choose with --layout, or give the one file or folder that is meant"
    paths = [layout.path for layout in layouts]
    splits = [path for path in paths if is_split_name(stem(uncompressed(path)))]
    one = f"give the one that is meant, such as {(splits or paths)[-1]}"
    if not splits or len(splits) == len(paths):
        return f"{one}, or move the others elsewhere"
    others = ", ".join(_name(path) for path in paths if path not in splits)
    read = " and ".join(map(_name, splits))
    return f"{one}, or move {others} elsewhere and have {read} read"


def _of_file(path: str) -> Layout:
    name = _layout_of_file(path)
    if name is None or (name == "coco" and not signs.is_coco(path)):
        why = "without COCO's keys at its start" if name else "with no suffix of these"
        raise ConfigError(
            f"cannot tell the layout of {path}, a file {why}: looked for "
            f"{', '.join('.' + known for known in _LAYOUT_OF_SUFFIX)}, and for a TFRecord file; "
            "give the folder of the dataset, or name its layout with --layout"
        )
    return Layout(name=name, path=path, found=f"{name}: {_name(path)}")


def _layout_of_file(path: str) -> str | None:
    refuse_compressed([path])
    found = _LAYOUT_OF_SUFFIX.get(suffix(uncompressed(path)))
    return found or ("tfrecord" if container_signs.is_tfrecord(path) else None)


def _of_pattern(pattern: str) -> Layout:
    files = storage.match_files(pattern)
    names = {_layout_of_file(file) for file in files}
    if len(names) != 1 or not names <= {*_CONTAINERS}:
        raise ConfigError(
            f"cannot tell the layout of {pattern}: it fits {shown(files, 'file')}, which are not "
            "all .tar, not all .npz or .npy, and not all TFRecord files; choose with --layout"
        )
    name = str(names.pop())
    return Layout(name=name, path=pattern, found=f"{name}: {shown(files, 'file')}")


def _as_told(layout: str, path: str) -> Layout | None:
    """What `resolve` takes in good faith, where the signs were not seen."""
    match layout:
        case "coco":
            seen = [file.relative for file in find_coco_files(path, None)[0]]
        case "csv" | "jsonl":
            suffixes = [known for known, name in _LAYOUT_OF_SUFFIX.items() if name == layout]
            manifests = find_manifests(path, None, f"metadata.{layout}", suffixes)
            seen = [manifest.relative for manifest in manifests]
        case _:
            fits = {
                "folders": lambda file: bool(media_kind(file)),
                "voc": lambda file: suffix(file) == "xml",
                "yolo": lambda file: suffix(file) == "txt",
                "tar": is_tar,
                "arrays": is_array,
                "tfrecord": bool,
            }[layout]
            files = (file.relative for file in storage.list_files(path))
            seen = list(itertools.islice(filter(fits, files), 1))
    return Layout(name=layout, path=path, found=f"{layout}: {seen[0]}") if seen else None


def _give_up(problem: str, tree: Tree, layout: str = "") -> NoReturn:
    if layout in ("", "tar"):
        refuse_compressed(container_signs.find_compressed_tars(tree))
    looked_for = [f"{sign} ({name})" for name, sign in LOOKED_FOR.items() if layout in ("", name)]
    raise ConfigError(
        f"{problem}: it holds {tree.look()}; looked for {'; '.join(looked_for)}; "
        f"mend the input, or name {'another' if layout else 'its'} layout with --layout"
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
