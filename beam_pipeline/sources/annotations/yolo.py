"""The layout `yolo`: a data.yaml, or text files with a line per box, and their images.

Source of the formats: https://docs.ultralytics.com/datasets/ (detect, segment, pose and obb).
"""

import contextlib
import dataclasses
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_FRACTION, check_number
from beam_pipeline.kinds.object_columns import mirrored
from beam_pipeline.problems import Problem, ProblemError, Reading
from beam_pipeline.records import DeclaredClasses, Objects, Rejected, composed
from beam_pipeline.schema.declaration import MAX_BYTES
from beam_pipeline.sources.annotations.shapes import (
    Parsed,
    Shapes,
    number,
    numbers,
    parse_lines,
)
from beam_pipeline.sources.annotations.side_files import (
    Pairing,
    ReadSideFiles,
    TreeFacts,
    claim_of_pairs,
    in_annotated_folder,
    tree_facts,
)
from beam_pipeline.sources.layout import Claim, Layout
from beam_pipeline.sources.paths import (
    below,
    folder,
    has_image_suffix,
    is_in,
    is_inside,
    joined,
    last_parts,
    name_of,
    outside,
    split_at,
    stem,
    suffix,
)
from beam_pipeline.sources.rejects import left_out, malformed, not_kept
from beam_pipeline.sources.tree import Tree, head
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.format.split_names import is_split, split_of_folders
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store.urls import unsigned

_SUFFIX, _HOME = "txt", "labels"
_YAML_NAMES = ("data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
# The last one is Roboflow's.
_NAME_LISTS = ("classes.txt", "obj.names", "predefined_classes.txt", "_darknet.labels")
_YOLO_KEY = re.compile(r"^(names|train|val)\s*:", re.MULTILINE)
_LINE = re.compile(rb"\A\s*\d+(\.0*)?([ \t]+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*?(\n|$)")
_MAX_CLASSES = 100_000
_ORIENTED = 8  # numbers in four corners


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class YoloConfig:
    """Description of a YOLO dataset.

    Attributes:
        names: Class names by number; None if nothing names them.
        splits: Absolute paths of the image folders and lists (.txt) of each split.
        keypoint_shape: (keypoints, numbers per keypoint); () for polygons.
        keypoint_names: Keypoint names of all classes, from `kpt_names`.
        keypoint_flips: Mirror index of each keypoint: `flip_idx`, else by the points' names.
        names_differ: Whether `kpt_names` differs between classes.
        sources: The files that contain the description.
    """

    names: Mapping[int, str] | None = None
    splits: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    keypoint_shape: tuple[int, ...] = ()
    keypoint_names: tuple[str, ...] = ()
    keypoint_flips: tuple[int, ...] = ()
    names_differ: bool = False
    sources: tuple[str, ...] = ()

    @property
    def paths(self) -> list[tuple[str, str]]:
        """(split, path) of each folder and list."""
        return [(split, path) for split, paths in self.splits.items() for path in paths]

    @property
    def lists(self) -> tuple[str, ...]:
        """Image lists of the splits, in the syntax of `--split-list`."""
        return tuple(f"{split}={path}" for split, path in self.paths if path.endswith(".txt"))


# Descriptions.


def read_config(tree: Tree, allowed: Sequence[str] = ()) -> YoloConfig:
    """Read a tree's data.yaml, else its lists of names and of the images of splits.

    A description may name folders below the tree and the `allowed` folders.

    Raises:
        ConfigError: The description is unusable.
    """
    root = tree.root
    if path := _find_yaml(tree):
        return _read_yaml(path, _Places(root, [root], allowed))
    source, names = _find_names(tree)
    lists = {
        stem(name): (below(root, name),)
        for name in tree.look().files
        if name.endswith(".txt") and is_split(stem(name)) and _names_image(below(root, name))
    }
    named = class_names(names, "", source)
    return YoloConfig(names=named, splits=_distinct(lists, root), sources=(source,) * bool(source))


@dataclasses.dataclass(frozen=True, slots=True)
class _Places:
    """Resolve the folders that a description names, perhaps written on another machine."""

    root: str
    bases: list[str]
    allowed: Sequence[str]

    def find(self, written: str) -> tuple[str, str]:
        """(existing folder or list, first path outside the input); "" for none."""
        written = written.replace("\\", "/")
        places = [storage.join(base, written) for base in self.bases]
        places += (below(self.root, part) for part in last_parts(written))
        elsewhere = ""
        for path in dict.fromkeys(places):
            if not (is_inside(path, [self.root]) or is_inside(_home_of(path), self.allowed)):
                elsewhere = elsewhere or path  # never accessed
            elif (storage.exists if path.endswith(".txt") else storage.is_directory)(path):
                return path, ""
        return "", elsewhere

    def resolve(self, written: str, key: str) -> str:
        path, elsewhere = self.find(written)
        if elsewhere:
            home = _home_of(elsewhere)
            raise ConfigError(f"{key}: {written!r} {outside(elsewhere, self.root, home)}")
        if not path:
            raise ConfigError(f"{key}: {written!r} does not exist; fix the path, or remove it")
        return path


def _home_of(path: str) -> str:
    """The folder with the images and labels of a split whose folder or list is `path`."""
    if around := split_at(f"{path}/", "images"):
        return around[0]
    return folder(path) if path.endswith(".txt") else path


def _find_yaml(tree: Tree) -> str:
    """Path of the data.yaml in a folder, or of the tree if it is that file; "" for none."""
    if not tree.is_folder:
        return tree.input
    names = sorted(tree.look().files, key=lambda name: (name not in _YAML_NAMES, name))
    paths = [
        below(tree.root, name)
        for name in names
        if name.endswith((".yaml", ".yml")) and _YOLO_KEY.search(_text(below(tree.root, name)))
    ]
    if len(paths) > 1 and name_of(paths[0]) not in _YAML_NAMES:
        raise ConfigError(f"{tree.root} has several descriptions: {', '.join(paths)}; give one")
    return next(iter(paths), "")


def _read_yaml(path: str, places: _Places) -> YoloConfig:
    from beam_pipeline.schema.yaml_values import parse_yaml  # PyYAML: 18 ms of every build

    try:  # scalars stay text; otherwise a class `no` would become False
        values = parse_yaml(_text(path), as_texts=True)
    except ValueError as error:
        raise ConfigError(f"{path} is not YAML that can be read: {error}") from error
    if not isinstance(values, dict) or not values:
        raise ConfigError(
            f"{path} is not a YAML mapping; a YOLO data.yaml has train:, val: and names:"
        )
    if base := _said(values.get("path")):
        home = places.find(base)[0] or storage.join(places.root, base)
        places = dataclasses.replace(places, bases=[home, places.root])
    splits: dict[str, tuple[str, ...]] = {}
    for key in filter(is_split, values):
        stated = values[key] if isinstance(values[key], list) else [values[key]]
        if written := [*filter(None, map(_said, stated))]:
            try:
                splits[key] = tuple(places.resolve(each, f"{path}: {key}") for each in written)
            except ConfigError:
                if key != "test" or not splits:  # Roboflow always names it
                    raise
    shape = _whole_numbers(
        values.get("kpt_shape"),
        lambda each: len(each) == 2 and each[0] > 0 and each[1] in (2, 3),
        f"{path}: kpt_shape is {{}}; it is [keypoints, 2 or 3]",
    )
    flips = _whole_numbers(
        values.get("flip_idx") if shape else None,
        lambda each: len(each) == shape[0] and sorted(each) == [*range(shape[0])],
        f"{path}: flip_idx is {{}}; it has each number from 0 to {sum(shape[:1]) - 1} once",
    )
    lists = values.get("kpt_names")
    named = [*lists.values()] if isinstance(lists, dict) else [lists]
    is_common = bool(shape and named) and all(each == named[0] for each in named)
    points: tuple[str, ...] = ()
    if is_common and isinstance(named[0], list) and len(named[0]) == shape[0]:
        points = tuple(map(str, named[0]))
    return YoloConfig(
        names=class_names(values.get("names"), _said(values.get("nc")), path),
        splits=_distinct(splits, path),
        keypoint_shape=shape,
        keypoint_names=points,
        keypoint_flips=flips or mirrored(points),
        names_differ=bool(lists) and not points,
        sources=(path,),
    )


def _whole_numbers(
    stated: Any, fits: Callable[[tuple[int, ...]], bool], fault: str
) -> tuple[int, ...]:
    if not stated:
        return ()
    with contextlib.suppress(TypeError, ValueError):
        numbers = tuple(map(int, stated))
        if fits(numbers):
            return numbers
    raise ConfigError(fault.format(repr(stated)[:60]))


def _find_names(tree: Tree) -> tuple[str, list[str]]:
    """(path, class names) of the list of class names; ("", []) for none.

    It is in the root or, as LabelImg writes it, in the folder of the label files.
    """
    found: dict[tuple[str, ...], str] = {}
    for place, listing in tree.walked.items():
        if all(part.lower() in ("", "labels") or is_split(part) for part in place.split("/")):
            for name in [name for name in _NAME_LISTS if name in listing.files][:1]:
                path = tree.path(joined(place, name))
                lines = map(str.strip, bare_lines(_text(path)))
                found.setdefault(tuple(filter(None, lines)), path)
    if len(found) > 1:
        raise ProblemError(
            _several_lists(tree, [path[len(tree.root) + 1 :] for path in found.values()])
        )
    return next(((path, [*names]) for names, path in found.items()), ("", []))


def _several_lists(tree: Tree, paths: Sequence[str]) -> Problem:
    """Ask which of several lists of class names to read."""
    readings = []
    for path in paths[:3]:
        others = (tree.ignored.only(other) for other in paths if other != path)
        readings.append(Reading({"ignore": tuple(others)}, f"use {path}"))
    facts = {"lists": " and ".join(paths)}
    return Problem(code="several class lists", facts=facts, readings=tuple(readings))


def _names_image(path: str) -> bool:
    lines = bare_lines(head(path).decode(errors="replace"))
    return has_image_suffix(next(filter(None, map(str.strip, lines)), ""))


def _distinct(splits: Mapping[str, tuple[str, ...]], source: str) -> Mapping[str, tuple[str, ...]]:
    """Return the splits; raise if two are equal or if folders and lists are mixed."""
    kinds = {path.endswith(".txt") for paths in splits.values() for path in paths}
    if len(kinds) > 1:
        raise ConfigError(f"{source} names folders and lists of images; name either")
    counts = Counter(splits.values())
    if twice := [split for split, paths in splits.items() if counts[paths] > 1]:
        raise ConfigError(f"{source}: {' and '.join(twice)} are the same; remove one")
    return splits


def class_names(names: Any, count: str, source: str) -> dict[int, str] | None:
    """Class names by number, from a list or a mapping; bare numbers name themselves.

    Raises:
        ConfigError: Names are invalid or repeated, or `nc` states another count.
    """
    if not names:
        if not count.isdecimal():
            return None
        if len(count) > 9 or int(count) > _MAX_CLASSES:
            raise ConfigError(f"{source}: nc is {count[:20]}; name so many classes")
        return {number: str(number) for number in range(int(count))}
    pairs = names if isinstance(names, dict) else dict(enumerate(names))
    try:
        named = {int(number): composed(name.strip()) for number, name in pairs.items()}
    except (AttributeError, TypeError, ValueError):
        named = {}
    if not named or isinstance(names, str):
        raise ConfigError(
            f"{source}: names is {names!a:.80}; give a list of class names, or names by number"
        )
    if count and count != str(len(named)):
        raise ConfigError(f"{source}: nc is {count} but names has {len(named)} classes; fix one")
    if twice := sorted(name for name, times in Counter(named.values()).items() if times > 1):
        raise ConfigError(f"{source}: names has {twice[0]!r} twice; give every class its own name")
    return named


def _said(value: Any) -> str:
    return value if isinstance(value, str) and value not in ("null", "~") else ""


def _text(path: str) -> str:
    try:
        return storage.read_text(path, MAX_BYTES)
    except RecordError as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


# Files.


def yolo_files(root: str, config: YoloConfig) -> Pairing:
    """Pair text files in a folder `labels` parallel to `images`, or next to their images."""
    has_folders = bool(config.splits) and not config.lists
    return Pairing(
        suffix=_SUFFIX,
        noun="label file",
        parse=functools.partial(_parse, config=config),
        home=_HOME,
        is_annotation=_is_label_file,
        image_homes=("images",),
        is_shared=True,
        is_background=functools.partial(_is_background, is_any=has_folders),
        split_of=functools.partial(_split_of, root, config.splits)
        if has_folders
        else split_of_folders,
        declared=()
        if config.names is None
        else (DeclaredClasses(feature="boxes", names=config.names),),
    )


def _is_label_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_other = name in _NAME_LISTS or name.lower().startswith(("readme", "license"))
    return not is_other and (is_in(path, _HOME) or not is_split(stem(name)))


def _is_background(image: str, known: TreeFacts, *, is_any: bool) -> bool:
    if is_any:
        return True
    if any(is_in(f"{home}/", "images") for home in known.folders):
        return is_in(image, "images")
    return in_annotated_folder(image, known)


def _split_of(root: str, splits: Mapping[str, Sequence[str]], image: str) -> str | Rejected:
    path = below(root, image)
    found = [split for split, places in splits.items() if is_inside(path, places)]
    if len(found) == 1:
        return found[0]
    if not found:
        return left_out(image, "in no split", "no split names it")
    return Rejected(
        source=image,
        reason="in two splits",
        detail=f"the image is in {', '.join(sorted(found))}; take it out of all but one",
    )


def _parse(data: bytes, annotation: str, config: YoloConfig) -> Parsed:
    boxes = parse_labels(storage.decoded(data, annotation), config)
    left = len(boxes.keypoints) if config.names_differ else 0
    return {"boxes": boxes}, not_kept(["keypoint names"] * left)


# Lines.


def parse_labels(text: str, config: YoloConfig) -> Objects:
    """The boxes of one label file.

    A line is `class center_x center_y width height`, then, with a `kpt_shape`, x, y and (if it has
    3 numbers) visibility of each keypoint; a keypoint of 2 numbers is visible unless it is 0, 0. A
    line of 7, 9, … numbers is a polygon, `class x1 y1 x2 y2 …`; its box is the upright one around
    it. If all polygons have four corners, they are oriented boxes.

    Boxes are in "rel_center_xywh" as written, or in "rel_xyxy" if there is a polygon.

    Raises:
        RecordError: "malformed annotation", with the line's number (from 1).
    """
    check_number(text.count("\n"))
    rows = parse_lines(text, functools.partial(_row, config=config))
    rings = [values for _, values, _ in rows if len(values) > 4]
    are_turned = all(len(ring) == _ORIENTED for ring in rings)
    shapes = Shapes(format="rel_xyxy" if rings else "rel_center_xywh")
    for label, values, _ in rows:
        if len(values) == 4 and rings:
            x, y, width, height = values
            shapes.box(label, (x - width / 2, y - height / 2, x + width / 2, y + height / 2))
        elif len(values) == 4:
            shapes.box(label, values)
        elif are_turned:
            shapes.turned_box(label, values)
        else:
            shapes.polygon(label, [values])
    if not (config.keypoint_shape and rows):
        return shapes.objects()
    return dataclasses.replace(
        shapes.objects(),
        keypoints=tuple(points for _, _, points in rows),
        keypoint_names=config.keypoint_names,
        keypoint_flips=config.keypoint_flips,
    )


def _row(fields: Sequence[str], config: YoloConfig) -> tuple[str, list[float], tuple[float, ...]]:
    label, shape = _class_name(fields[0], config.names), config.keypoint_shape
    values = [_fraction(field) for field in (fields[1:5] if shape else fields[1:])]
    points = _keypoints(fields[5:], shape) if shape else ()
    if len(values) != 4 and (len(values) < 6 or len(values) % 2):
        raise malformed(
            f"{len(fields)} numbers; a box has 5 (class, centre x, centre y, width, "
            "height), a polygon 7, 9, …; keypoints need kpt_shape in data.yaml"
        )
    return label, values, points


def _class_name(field: str, names: Mapping[int, str] | None) -> str:
    index = number(field, "the class")
    if names is None and index >= 0 and index.is_integer():
        return str(int(index))
    if names is None or index not in names:
        among = f"the {counted(len(names), 'class')} named" if names else "whole numbers from 0"
        raise malformed(f"class {field} is not among {among}")
    return names[int(index)]


def _fraction(field: str) -> float:
    value = number(field, "a side")
    if abs(value) > MAX_FRACTION:
        raise malformed(f"{field} is not a fraction of the image; is it in pixels?")
    return value


def _keypoints(fields: Sequence[str], shape: tuple[int, ...]) -> tuple[float, ...]:
    count, size = shape
    with naming(f"kpt_shape [{count}, {size}]"):
        values = numbers(fields, count * size)
    if size == 3:
        return values
    points = zip(values[::2], values[1::2], strict=True)
    return tuple(value for x, y in points for value in (x, y, 2.0 if (x, y) != (0, 0) else 0.0))


# The layout.


def claim_yolo(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim a data.yaml, or text files of YOLO lines in labels/ or next to their images."""
    is_yaml = tree.is_file and suffix(unsigned(tree.input)) in ("yaml", "yml")
    if not (tree.is_folder or is_yaml):
        return None
    has_yaml = bool(_find_yaml(tree))
    files = yolo_files(tree.root, YoloConfig())
    counts: dict[str, int] = {}
    if tree.is_folder and tree.files_with(files.suffix):
        known, labels = tree_facts(tree, files)
        labels = [path for path in labels if known.is_at_home or folder(path) in known.folders]
        counts = tree.counted(labels, None if config.layout == "yolo" else _LINE)
        homes = {part for home in tree.walked for part in home.lower().split("/")}
        if "labeltxt" in homes and "labels" not in homes:  # DOTA as exported by Roboflow
            return None
    if not (counts or has_yaml):
        return None
    described = read_config(tree, config.allow_outside)
    if tree.is_folder and tree.only_folder and not (described.names or described.splits):
        return None  # that folder may have a description
    names = f", {counted(len(described.names), 'class')}" if described.names else ", no class names"
    splits = f", splits {', '.join(described.splits)}" if described.splits else ""
    what = tree.describe_counts(counts, files.noun) if counts else "a data.yaml"
    lists, inside = described.lists, functools.partial(is_inside, folders=[tree.root])
    is_whole = tree.is_folder and tree.is_known and all(inside(path) for _, path in described.paths)
    problem = Problem(code="no label files", facts={"path": tree.input})
    reads = filter(inside, (*described.sources, *(each.partition("=")[2] for each in lists)))
    claim = claim_of_pairs("yolo", tree, _source(tree, described), f"{what}{names}{splits}")
    return dataclasses.replace(
        claim,
        problem=problem if is_whole and not counts else None,
        reads=tuple(path[len(tree.root) + 1 :] for path in reads),
        options={"split_list": lists} if lists else {},
    )


def _source(tree: Tree, described: YoloConfig) -> ReadSideFiles:
    """Make the source that reads the folders of all splits, which may be outside the tree."""
    paths = [path for _, path in described.paths]
    if all(is_inside(path, [tree.root]) for path in paths):
        return ReadSideFiles.of(tree, yolo_files(tree.root, described))
    homes = sorted({*map(_home_of, paths)})
    levels = zip(*(path.split("/") for path in homes), strict=False)
    shared = itertools.takewhile(lambda names: len({*names}) == 1, levels)
    root = "/".join(names[0] for names in shared)
    folders = tuple(home[len(root) + 1 :] for home in homes)
    known = TreeFacts(is_at_home=True, in_splits=not described.lists)
    return ReadSideFiles(root, yolo_files(root, described), known, tree.ignored, folders)


LAYOUT = Layout(
    name="yolo",
    sign="a data.yaml, or .txt files in labels/ or next to their images",
    claim=claim_yolo,
    takes=(),
)
