"""Ultralytics' data.yaml: where the splits of a YOLO dataset lie, and what its classes are called.

Source of the format: https://docs.ultralytics.com/datasets/detect/#ultralytics-yolo-format.
"""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.kinds.points import mirrored
from beam_pipeline.records import composed
from beam_pipeline.sources.paths import below, folder, split_at
from beam_pipeline.sources.references import is_inside, last_parts, outside
from beam_pipeline.sources.yolo import keypoints
from beam_pipeline.sources.yolo.darknet import (
    find_lists,
    find_names,
    find_obj_data,
    read,
    read_names,
    read_obj_data,
)
from tfrecord_dataset.split_names import is_split

_YAML_NAMES = ("data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
_YOLO_KEY = re.compile(r"^(names|train|val)\s*:", re.MULTILINE)
MAX_CLASSES = 100_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class YoloConfig:
    """What a YOLO dataset says of itself.

    Attributes:
        root: The folder that keys are relative to.
        names: Class names by number; None where nothing names them.
        splits: For each split the absolute paths of its folders and lists (.txt) of images;
            None where the folders' names tell the splits.
        bases: Where else the paths in lists may start from: the dataset's `path`.
        keypoint_shape: (keypoints, numbers a keypoint), if `kpt_shape` is given; () where it says
            that there are none.
        keypoint_names: Those that `kpt_names` gives the points of all classes.
        keypoint_flips: Which point each is in a mirror: `flip_idx`, else as names of points tell.
        names_differ: Whether `kpt_names` names the points of classes differently.
        source: The file that says so, for messages; or "".
        names_list: The file of the names, if it is another one; or "".
        absent: The split that it names and that is not there; or "".
    """

    root: str
    names: dict[int, str] | None = None
    splits: dict[str, tuple[str, ...]] | None = None
    bases: tuple[str, ...] = ()
    keypoint_shape: tuple[int, int] | tuple[()] | None = None
    keypoint_names: tuple[str, ...] = ()
    keypoint_flips: tuple[int, ...] = ()
    names_differ: bool = False
    source: str = ""
    names_list: str = ""
    absent: str = ""


def find_config(root: str, allowed: Sequence[str] = ()) -> YoloConfig:
    """The description of the YOLO dataset in folder `root`, or described by the YAML file `root`.

    In a folder: its data.yaml or dataset.yaml, or the only YAML file that has `names`; else
    Darknet's obj.data; else class names from classes.txt or obj.names, a name a line, and splits
    from lists of images such as train.txt.

    Args:
        root: The folder or file.
        allowed: Folders elsewhere that the description may name, too.

    Raises:
        ConfigError: The description is unusable: what was found, and where it was looked for.
    """
    if root.endswith((".yaml", ".yml")):
        return read_data_yaml(root, allowed)
    folders, files = storage.list_folder(root)
    if (path := find_data_yaml(root, files)) is not None:
        return read_data_yaml(path, allowed)
    if (path := find_obj_data(root, files)) is not None:
        return read_darknet(path, allowed)
    source, names = find_names(root, folders)
    return YoloConfig(
        root=root,
        names=class_names(names, "", source),
        splits=_distinct(find_lists(root, files), root) or None,
        bases=(root,),
        source=source,
    )


def read_darknet(path: str, allowed: Sequence[str] = ()) -> YoloConfig:
    """The YOLO dataset that Darknet's obj.data describes.

    Its paths start where Darknet was run: they are looked for as in `read_data_yaml`.

    Raises:
        ConfigError: A file that it names does not exist or lies outside, or two classes have one
            name.
    """
    root = folder(path)
    values = read_obj_data(path)
    resolve = functools.partial(_resolve, bases=[root], source=path, allowed=allowed)
    names = resolve(values["names"], key="names") if "names" in values else ""
    splits: dict[str, tuple[str, ...]] = {
        key: (resolve(written, key=key),) for key, written in values.items() if is_split(key)
    }
    return YoloConfig(
        root=root,
        names=class_names(read_names(names), values.get("classes", ""), names) if names else None,
        splits=_distinct(splits, path) or None,
        bases=(root,),
        source=path,
        names_list=names,
    )


def _distinct(splits: dict[str, tuple[str, ...]], source: str) -> dict[str, tuple[str, ...]]:
    """The splits, unless two are the same."""
    for one, other in ((a, b) for a in splits for b in splits if a < b):
        if splits[one] == splits[other]:
            raise ConfigError(
                f"{source}: {one} and {other} are the same ({', '.join(splits[one])}); remove one, "
                "or its images would be in both"
            )
    return splits


def find_data_yaml(root: str, files: Sequence[str]) -> str | None:
    """The path of the data.yaml among the `files` of folder `root`.

    Raises:
        ConfigError: Several files could be it.
    """
    paths = [
        below(root, name)
        for name in sorted(files, key=lambda name: (name not in _YAML_NAMES, name))
        if name.endswith((".yaml", ".yml")) and _YOLO_KEY.search(read(below(root, name)))
    ]
    if len(paths) > 1 and paths[0].rpartition("/")[2] not in _YAML_NAMES:
        raise ConfigError(
            f"{root} has several YOLO descriptions: {', '.join(paths)}; give one of them as input"
        )
    return paths[0] if paths else None


def read_data_yaml(path: str, allowed: Sequence[str] = ()) -> YoloConfig:
    """The YOLO dataset that the YAML file `path` describes.

    `path` and the splits may be written for another machine, or as Roboflow does
    (`../train/images`): where a path does not exist as it stands, what remains of it without its
    first folders is looked for below the YAML file's own folder.

    Raises:
        ConfigError: Not a YAML mapping, no split in it, a folder that does not exist or lies
            outside, or classes without names.
    """
    values = _load(path)
    if not values:
        raise ConfigError(
            f"{path} is not a YAML mapping; a YOLO data.yaml has train:, val: and names:"
        )
    root = folder(path)
    bases = [root]
    if base := _text(values.get("path")):
        places = [*candidates(base, [root])]
        found = (
            place
            for place in places
            if is_inside(place, [root, *allowed]) and storage.is_directory(place)
        )
        bases = [next(found, places[0]), root]
    splits: dict[str, tuple[str, ...]] = {}
    absent = ""
    for key in filter(is_split, values):
        entries = values[key]
        entries = entries if isinstance(entries, list) else [entries]
        if entries := [entry for entry in map(_text, entries) if entry]:
            try:
                splits[key] = tuple(_resolve(entry, bases, path, key, allowed) for entry in entries)
            except ConfigError:
                if key != "test" or not splits:  # Roboflow names it, whether there is one or not
                    raise
                absent = key
    shape = keypoints.shape_of(values.get("kpt_shape"), path)
    points = keypoints.names_of(values.get("kpt_names"), shape)
    flips = keypoints.flips_of(values.get("flip_idx"), shape, path)
    return YoloConfig(
        root=root,
        names=class_names(values.get("names"), _text(values.get("nc")), path),
        splits=_distinct(splits, path) or None,
        bases=tuple(bases),
        keypoint_shape=shape,
        keypoint_names=points,
        keypoint_flips=flips or mirrored(points),
        names_differ=bool(values.get("kpt_names")) and not points,
        source=path,
        absent=absent,
    )


def candidates(written: str, bases: list[str]) -> Iterator[str]:
    """Where a path of a data.yaml may be, most likely first; `bases` end with the YAML's folder."""
    written = written.replace("\\", "/")
    for base in bases:
        yield storage.join(base, written)
    for part in last_parts(written):
        yield below(bases[-1], part)


def _resolve(written: str, bases: list[str], source: str, key: str, allowed: Sequence[str]) -> str:
    root = bases[-1]
    elsewhere, tried = [], []
    for path in dict.fromkeys(candidates(written, bases)):
        if not (is_inside(path, [root]) or is_inside(home_of(path), allowed)):
            elsewhere.append(path)
            continue
        tried.append(path)
        is_there = storage.exists if path.endswith((".txt", ".names")) else storage.is_directory
        if is_there(path):
            return path
    if elsewhere:
        raise ConfigError(
            f"{source}: {key}: {written!r} {outside(elsewhere[0], root, home_of(elsewhere[0]))}; "
            f"nothing was found at {', '.join(tried) or 'any place in it'}"
        )
    raise ConfigError(
        f"{source}: {key}: {written!r} does not exist; tried {', '.join(tried)}; "
        f"fix the path, or remove {key}: if there is no such split"
    )


def home_of(path: str) -> str:
    """The folder that holds the images and labels of a split, whose folder or list is `path`."""
    if around := split_at(f"{path}/", "images"):
        return around[0]
    return folder(path) if path.endswith(".txt") else path


def class_names(names: Any, count: str, source: str) -> dict[int, str] | None:
    """Class names by number from a list, or a mapping from numbers; numbers alone name themselves.

    Raises:
        ConfigError: A number that is none, a name twice, or another count than stated (`nc`).
    """
    if not names:
        if count.isdecimal() and (len(count) > 9 or int(count) > MAX_CLASSES):
            raise ConfigError(
                f"{source}: nc is {count[:20]}, but at most {MAX_CLASSES:,} classes may go without "
                "names; fix it, or give names"
            )
        return {number: str(number) for number in range(int(count))} if count.isdecimal() else None
    if not isinstance(names, dict | list):
        raise ConfigError(
            f"{source}: names is {names!a:.80}; give a list, or a mapping from numbers"
        )
    pairs = list(names.items() if isinstance(names, dict) else enumerate(names))
    if not all(isinstance(name, str) for _, name in pairs):
        raise ConfigError(f"{source}: names has lists or mappings in it; give one name a class")
    try:
        named = {int(number): composed(name) for number, name in pairs}
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{source}: names: the keys are not class numbers ({error})") from None
    if count and count != str(len(named)):
        raise ConfigError(
            f"{source}: nc is {count} but names has {len(named)} classes; fix one of them"
        )
    if twice := sorted(name for name, times in Counter(named.values()).items() if times > 1):
        raise ConfigError(f"{source}: names has {twice[0]!r} twice; give every class its own name")
    return named


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value not in ("null", "~") else ""


def _load(path: str) -> dict[str, Any]:
    """The file's mapping; every scalar stays text, or a class `no` would become False."""
    from beam_pipeline.schema.yaml_values import parse_yaml  # PyYAML: 18 ms of every build

    try:
        values = parse_yaml(read(path), as_texts=True)
    except ValueError as error:
        raise ConfigError(f"{path} is not YAML that can be read: {error}") from error
    return values if isinstance(values, dict) else {}
