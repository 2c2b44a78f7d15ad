"""The layout `yolo`: a data.yaml, or text files with a line per box, and their images.

Source of the formats: https://docs.ultralytics.com/datasets/ (detect, segment, pose and obb).
"""

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_FRACTION, check_number
from beam_pipeline.kinds.points import mirrored
from beam_pipeline.problems import Problem
from beam_pipeline.records import DeclaredClasses, Objects, Rejected, composed
from beam_pipeline.schema.declaration import MAX_BYTES
from beam_pipeline.sources.annotations.shapes import Parsed, Shapes, naming, number
from beam_pipeline.sources.annotations.side_files import (
    Pair,
    ReadSideFiles,
    SideFiles,
    TreeFacts,
    tree_facts,
)
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import (
    below,
    folder,
    has_image_suffix,
    input_folder,
    joined,
    left_out,
    split_at,
    stem,
    suffix,
)
from beam_pipeline.sources.references import is_inside, last_parts, outside
from beam_pipeline.sources.tree import Tree, head
from tfrecord_dataset.format.split_names import is_split, split_of_folders
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store.urls import unsigned

_YAML_NAMES = ("data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
# The last is Roboflow's.
_NAME_LISTS = ("classes.txt", "obj.names", "predefined_classes.txt", "_darknet.labels")
_YOLO_KEY = re.compile(r"^(names|train|val)\s*:", re.MULTILINE)
_LINE = re.compile(rb"\A\s*\d+(\.0*)?([ \t]+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*?(\n|$)")
_MAX_CLASSES = 100_000
_ORIENTED = 8  # numbers of four corners


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class YoloConfig:
    """What a YOLO dataset says of itself.

    Attributes:
        names: Class names by number; None where nothing names them.
        splits: For each split the absolute paths of its folders and lists (.txt) of images.
        keypoint_shape: (keypoints, numbers a keypoint); None for polygons.
        keypoint_names: Those that `kpt_names` gives the points of all classes.
        keypoint_flips: Which point each is in a mirror: `flip_idx`, else as names of points tell.
        names_differ: Whether `kpt_names` names the points of classes differently.
        sources: The files that state it.
    """

    names: Mapping[int, str] | None = None
    splits: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    keypoint_shape: tuple[int, int] | None = None
    keypoint_names: tuple[str, ...] = ()
    keypoint_flips: tuple[int, ...] = ()
    names_differ: bool = False
    sources: tuple[str, ...] = ()

    @property
    def lists(self) -> list[str]:
        """The lists of images of splits, as `--split-list` has them."""
        return [
            f"{split}={path}"
            for split, paths in self.splits.items()
            for path in paths
            if path.endswith(".txt")
        ]


# Descriptions.


def read_config(tree: Tree, allowed: Sequence[str] = ()) -> YoloConfig:
    """The description of a tree: its data.yaml, else lists of names and of the images of splits.

    Args:
        tree: The tree, or the data.yaml itself.
        allowed: Folders elsewhere that the description may name, too.

    Raises:
        ConfigError: The description is unusable.
    """
    root = tree.root
    if not tree.is_folder:
        return _read_yaml(tree.input, _Paths(root, [root], tree.input, allowed))
    if path := _find_yaml(tree):
        return _read_yaml(path, _Paths(root, [root], path, allowed))
    source, names = _find_names(tree)
    lists = {
        stem(name): (below(root, name),)
        for name in tree.look().files
        if name.endswith(".txt") and is_split(stem(name)) and _names_image(below(root, name))
    }
    named = class_names(names, "", source)
    return YoloConfig(names=named, splits=_distinct(lists, root), sources=(source,) * bool(source))


@dataclasses.dataclass(frozen=True, slots=True)
class _Paths:
    """Resolves paths of a description, which may be written for another machine."""

    root: str
    bases: list[str]
    source: str
    allowed: Sequence[str]

    def candidates(self, written: str) -> Iterator[str]:
        """Where a path may be, likeliest first."""
        written = written.replace("\\", "/")
        yield from (storage.join(base, written) for base in self.bases)
        yield from (below(self.root, part) for part in last_parts(written))

    def is_allowed(self, path: str) -> bool:
        """Whether a path is in the input or an allowed folder."""
        return is_inside(path, [self.root]) or is_inside(_home_of(path), self.allowed)

    def resolve(self, written: str, key: str) -> str:
        """The path that is there.

        Raises:
            ConfigError: It does not exist, or is outside the input.
        """
        elsewhere = []
        for path in dict.fromkeys(self.candidates(written)):
            if not self.is_allowed(path):  # nothing there is asked whether it exists
                elsewhere.append(path)
                continue
            if (storage.exists if path.endswith(".txt") else storage.is_directory)(path):
                return path
        if elsewhere:
            home = _home_of(elsewhere[0])
            raise ConfigError(
                f"{self.source}: {key}: {written!r} {outside(elsewhere[0], self.root, home)}"
            )
        raise ConfigError(
            f"{self.source}: {key}: {written!r} does not exist; fix the path, or remove {key}:"
        )


def _home_of(path: str) -> str:
    """The folder that holds the images and labels of a split, whose folder or list is `path`."""
    if around := split_at(f"{path}/", "images"):
        return around[0]
    return folder(path) if path.endswith(".txt") else path


def _find_yaml(tree: Tree) -> str:
    """The path of a folder's data.yaml; "" where there is none."""
    names = sorted(tree.look().files, key=lambda name: (name not in _YAML_NAMES, name))
    paths = [
        below(tree.root, name)
        for name in names
        if name.endswith((".yaml", ".yml")) and _YOLO_KEY.search(_text(below(tree.root, name)))
    ]
    if len(paths) > 1 and paths[0].rpartition("/")[2] not in _YAML_NAMES:
        raise ConfigError(f"{tree.root} has several descriptions: {', '.join(paths)}; give one")
    return next(iter(paths), "")


def _read_yaml(path: str, paths: _Paths) -> YoloConfig:
    from beam_pipeline.schema.yaml_values import parse_yaml  # PyYAML: 18 ms of every build

    try:  # every scalar stays text, or a class `no` would become False
        values = parse_yaml(_text(path), as_texts=True)
    except ValueError as error:
        raise ConfigError(f"{path} is not YAML that can be read: {error}") from error
    if not isinstance(values, dict) or not values:
        raise ConfigError(
            f"{path} is not a YAML mapping; a YOLO data.yaml has train:, val: and names:"
        )
    if base := _said(values.get("path")):
        places = [*paths.candidates(base)]
        homes = (
            place for place in places if paths.is_allowed(place) and storage.is_directory(place)
        )
        paths = dataclasses.replace(paths, bases=[next(homes, places[0]), paths.root])
    splits: dict[str, tuple[str, ...]] = {}
    for key in filter(is_split, values):
        stated = values[key] if isinstance(values[key], list) else [values[key]]
        if written := [*filter(None, map(_said, stated))]:
            try:
                splits[key] = tuple(paths.resolve(each, key) for each in written)
            except ConfigError:
                if key != "test" or not splits:  # Roboflow names it, whether there is one or not
                    raise
    shape = _shape(values.get("kpt_shape"), path)
    lists = values.get("kpt_names")
    named = [*lists.values()] if isinstance(lists, dict) else [lists]
    points: tuple[str, ...] = ()
    if shape and isinstance(named[0], list) and all(each == named[0] for each in named):
        points = tuple(map(str, named[0])) if len(named[0]) == shape[0] else ()
    return YoloConfig(
        names=class_names(values.get("names"), _said(values.get("nc")), path),
        splits=_distinct(splits, path),
        keypoint_shape=shape,
        keypoint_names=points,
        keypoint_flips=_flips(values.get("flip_idx"), shape, path) or mirrored(points),
        names_differ=bool(lists) and not points,
        sources=(path,),
    )


def _shape(stated: Any, source: str) -> tuple[int, int] | None:
    """[keypoints, 2 or 3]."""
    if not stated:
        return None
    try:
        count, size = map(int, stated)
    except (TypeError, ValueError):
        count = size = 0
    if count < 1 or size not in (2, 3):
        raise ConfigError(f"{source}: kpt_shape is {stated!r:.60}; it is [keypoints, 2 or 3]")
    return count, size


def _flips(stated: Any, shape: tuple[int, int] | None, source: str) -> tuple[int, ...]:
    """For each keypoint the number of the one that it is in a mirror; () where none is stated."""
    if not stated or not shape:
        return ()
    try:
        flips = tuple(map(int, stated))
    except (TypeError, ValueError):
        flips = ()
    if sorted(flips) != list(range(shape[0])):
        raise ConfigError(
            f"{source}: flip_idx is {stated!r:.60}; it has each number from 0 to {shape[0] - 1} "
            "once"
        )
    return flips


def _find_names(tree: Tree) -> tuple[str, list[str]]:
    """The path of the list of class names and what it says; ("", []) where there is none.

    It is in the root, or, as LabelImg leaves it, in the folder of the label files.

    Raises:
        ConfigError: There are several, and they differ.
    """
    places = [
        place
        for place in tree.walked
        if all(
            part.lower() == "labels" or is_split(part) for part in filter(None, place.split("/"))
        )
    ]
    found: dict[tuple[str, ...], str] = {}
    for place in places:
        for name in _NAME_LISTS:
            if name in tree.look(place).files:
                path = tree.path(joined(place, name))
                found.setdefault(tuple(_lines(path)), path)
                break
    if len(found) > 1:
        raise ConfigError(f"the lists of class names {' and '.join(found.values())} differ")
    return next(((path, [*names]) for names, path in found.items()), ("", []))


def _names_image(path: str) -> bool:
    lines = head(path).decode(errors="replace").splitlines()
    return has_image_suffix(next(filter(None, map(str.strip, lines)), ""))


def _distinct(splits: Mapping[str, tuple[str, ...]], source: str) -> Mapping[str, tuple[str, ...]]:
    """The splits, unless two are the same, or some are folders and others lists."""
    kinds = {path.endswith(".txt") for paths in splits.values() for path in paths}
    if len(kinds) > 1:
        raise ConfigError(f"{source} names folders and lists of images; name either")
    counts = Counter(splits.values())
    if twice := [split for split, paths in splits.items() if counts[paths] > 1]:
        raise ConfigError(f"{source}: {' and '.join(twice)} are the same; remove one")
    return splits


def class_names(names: Any, count: str, source: str) -> dict[int, str] | None:
    """Class names by number from a list, or a mapping from numbers; bare numbers name themselves.

    Raises:
        ConfigError: A number that is none, a name twice, or another count than stated (`nc`).
    """
    if not names:
        if not count.isdecimal():
            return None
        if len(count) > 9 or int(count) > _MAX_CLASSES:
            raise ConfigError(f"{source}: nc is {count[:20]}; name so many classes")
        return {number: str(number) for number in range(int(count))}
    if not isinstance(names, dict | list):
        raise ConfigError(f"{source}: names is {names!a:.80}; give a list of class names")
    pairs = list(names.items() if isinstance(names, dict) else enumerate(names))
    if not all(isinstance(name, str) for _, name in pairs):
        raise ConfigError(f"{source}: names has lists or mappings in it; give one name a class")
    try:
        named = {int(number): composed(name.strip()) for number, name in pairs}
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{source}: names: the keys are not class numbers ({error})") from None
    if count and count != str(len(named)):
        raise ConfigError(f"{source}: nc is {count} but names has {len(named)} classes; fix one")
    if twice := sorted(name for name, times in Counter(named.values()).items() if times > 1):
        raise ConfigError(f"{source}: names has {twice[0]!r} twice; give every class its own name")
    return named


def _said(value: Any) -> str:
    return value if isinstance(value, str) and value not in ("null", "~") else ""


def _lines(path: str) -> list[str]:
    return [line for line in map(str.strip, _text(path).splitlines()) if line]


def _text(path: str) -> str:
    try:
        return storage.read_text(path, MAX_BYTES)
    except RecordError as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


# Files.


@dataclasses.dataclass(frozen=True)
class YoloFiles(SideFiles):
    """Text files in a folder `labels` in the place of `images`, or next to their images.

    An image needs none.

    Attributes:
        root: The absolute folder that paths are relative to.
        config: The dataset's description.
    """

    suffix = "txt"
    noun = "label file"
    home = "labels"
    is_shared = True
    is_needed = False

    root: str
    config: YoloConfig

    def declared(self) -> Iterator[DeclaredClasses]:
        if self.config.names is not None:
            yield DeclaredClasses(feature="boxes", names=self.config.names)

    def annotates(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        is_other = name in _NAME_LISTS or name.lower().startswith(("readme", "license"))
        if suffix(path) != self.suffix or is_other:
            return False
        is_proper = split_at(path, self.home) is not None
        return is_proper or not is_split(stem(name))

    def is_expected(self, image: str, known: TreeFacts) -> bool:
        if self.config.splits and not self.config.lists:
            return True
        of_images = any(split_at(f"{home}/", "images") for home in known.folders)
        return (
            split_at(image, "images") is not None
            if of_images
            else super().is_expected(image, known)
        )

    def image_key(self, image: str) -> str:
        return _pair_key(image, "images")

    def image_keys(self, annotation: str, name: str) -> Sequence[str]:
        proper = split_at(annotation, self.home)
        return [_pair_key(annotation, self.home if proper else "images")]

    def owners(self, annotations: Sequence[str]) -> Sequence[str]:
        return [path for path in annotations if split_at(path, self.home)][:1] or annotations[:1]

    def split(self, pair: Pair, known: TreeFacts) -> str | Rejected | None:
        if self.config.lists:
            return None
        if not self.config.splits:
            return split_of_folders(pair.image) if known.in_splits else None
        path = below(self.root, pair.image)
        splits = [split for split, places in self.config.splits.items() if is_inside(path, places)]
        if len(splits) == 1:
            return splits[0]
        if not splits:
            return left_out(pair.image, "in no split", "no split names it")
        return Rejected(
            source=pair.image,
            reason="in two splits",
            detail=f"the image is in {', '.join(sorted(splits))}; take it out of all but one",
        )

    def parse(self, data: bytes, annotation: str) -> Parsed:
        config = self.config
        boxes = parse_labels(storage.decoded(data, annotation), config)
        left = len(boxes.keypoints) if config.names_differ else 0
        return {"boxes": boxes}, not_kept(["keypoint names"] * left)


def _pair_key(path: str, home: str) -> str:
    """What an image and its label file have in common."""
    around = split_at(path, home)
    parts = (around[0], "images", around[1], stem(path)) if around else (folder(path), stem(path))
    return composed("/".join(filter(None, parts)))


# Lines.


def parse_labels(text: str, config: YoloConfig) -> Objects:
    """The boxes of one label file.

    A line is `class center_x center_y width height`, then, with a `kpt_shape`, x and y of
    each keypoint and, if it has 3 numbers, its visibility; a keypoint of 2 numbers is visible, but
    not at 0, 0. A line of 7, 9, … numbers is `class x1 y1 x2 y2 …`: a polygon, and its box is the
    upright one around it. If all polygons have four corners they are oriented boxes.

    Returns:
        Boxes in "rel_center_xywh" as written, in "rel_xyxy" where there is a polygon.

    Raises:
        RecordError: "malformed annotation", with the line's number (from 1).
    """
    check_number(text.count("\n"))
    rows: list[tuple[str, list[float], tuple[float, ...]]] = []
    for place, line in enumerate(text.splitlines(), start=1):
        if fields := line.split():
            with naming(f"line {place}"):
                rows.append(_row(fields, config))
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
    """The class, the numbers of the box or polygon, and the keypoints of a line."""
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
    if index < 0 or not index.is_integer():
        raise malformed(f"class {field!r} is not a number from 0")
    if names is None:
        return str(int(index))
    if int(index) not in names:
        raise malformed(f"class {field} is not among the {counted(len(names), 'class')} named")
    return names[int(index)]


def _fraction(field: str) -> float:
    value = number(field, "a side")
    if abs(value) > MAX_FRACTION:
        raise malformed(f"{field} is not a fraction of the image; is it in pixels?")
    return value


def _keypoints(fields: Sequence[str], shape: tuple[int, int]) -> tuple[float, ...]:
    count, size = shape
    if len(fields) != count * size:
        raise malformed(
            f"{len(fields)} numbers after the box, where kpt_shape [{count}, {size}] "
            f"makes {count * size}"
        )
    values = [number(field, "a keypoint") for field in fields]
    if size == 3:
        return tuple(values)
    points = zip(values[::2], values[1::2], strict=True)
    return tuple(value for x, y in points for value in (x, y, 2.0 if (x, y) != (0, 0) else 0.0))


# The layout.


def claim_yolo(tree: Tree, config: BuildConfig) -> Claim | None:
    """A data.yaml; or text files of YOLO's lines in labels/ or next to their images."""
    is_named = config.layout == "yolo"
    if not tree.is_folder and (
        not tree.is_file or suffix(unsigned(tree.input)) not in ("yaml", "yml")
    ):
        return None
    has_yaml = not tree.is_folder or bool(_find_yaml(tree))
    files = YoloFiles(tree.root, YoloConfig())
    counts: dict[str, int] = {}
    if tree.is_folder and tree.files_with(files.suffix):
        known, labels = tree_facts(tree, files)
        labels = [path for path in labels if known.is_at_home or folder(path) in known.folders]
        counts = tree.counted(labels, None if is_named else _LINE)
        homes = {part for home in tree.walked for part in home.lower().split("/")}
        if "labeltxt" in homes and "labels" not in homes:  # DOTA's, of Roboflow
            return None
    if not (counts or has_yaml):
        return None
    described = read_config(tree, config.allow_outside)
    if tree.is_folder and tree.only_folder and not (described.names or described.splits):
        return None  # that folder may have names
    names = f", {counted(len(described.names), 'class')}" if described.names else ", no class names"
    splits = f", splits {', '.join(described.splits)}" if described.splits else ""
    what = tree.describe_counts(counts, files.noun) if counts else "a data.yaml"
    lists = tuple(described.lists)
    problem = None
    if (
        tree.is_folder
        and tree.is_known
        and not counts
        and all(
            is_inside(path, [tree.root]) for paths in described.splits.values() for path in paths
        )
    ):
        problem = Problem(code="no label files", facts={"path": tree.input})
    return Claim(
        problem=problem,
        layout="yolo",
        rank=Rank.ANNOTATIONS,
        path=tree.input,
        reads=tuple(
            path[len(tree.root) + 1 :]
            for path in (*described.sources, *(each.partition("=")[2] for each in lists))
            if is_inside(path, [tree.root])
        ),
        understood=(("files", f"{what}{names}{splits}"),),
        options={"split_list": lists} if lists else {},
    )


def read_yolo(claim: Claim, config: BuildConfig, scratch: str) -> ReadSideFiles:
    """What reads the files of a claim: those of the folders that hold all splits."""
    ignored = Ignored.of(config, claim.path)
    tree = Tree.of(claim.path, ignored)
    described = read_config(tree, config.allow_outside)
    paths = [path for paths in described.splits.values() for path in paths]
    root, folders = input_folder(tree.root), tuple[str, ...](("",))
    known = tree_facts(tree, YoloFiles(root, described))[0]
    if not all(is_inside(path, [root]) for path in paths):
        homes = sorted({*map(_home_of, paths)})
        levels = zip(*(path.split("/") for path in homes), strict=False)
        shared = itertools.takewhile(lambda names: len({*names}) == 1, levels)
        root = "/".join(names[0] for names in shared)
        folders = tuple(home[len(root) + 1 :] for home in homes)
        known = TreeFacts(is_at_home=True)
    return ReadSideFiles(root, YoloFiles(root, described), known, ignored, folders)


LAYOUT = Layout(
    name="yolo",
    sign="a data.yaml, or .txt files in labels/ or next to their images",
    claim=claim_yolo,
    read=read_yolo,
    takes=(),
)
