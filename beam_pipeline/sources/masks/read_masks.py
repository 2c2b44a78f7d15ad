"""The layout `masks`: images with maps of classes or depths per pixel."""

import contextlib
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.maps import MapSample
from beam_pipeline.problems import Problem, two_maps
from beam_pipeline.records import DeclaredClasses, FileRef, Map, Value
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.annotations.side_files import (
    Pairing,
    ReadSideFiles,
    claim_of_pairs,
    pairs_in,
)
from beam_pipeline.sources.folders.structure import FolderRoles, main_structure, structures
from beam_pipeline.sources.layout import Claim, Layout
from beam_pipeline.sources.masks import names
from beam_pipeline.sources.masks.meaning import (
    Classes,
    Meaning,
    is_map,
    is_table,
    meaning_of,
    read_table,
)
from beam_pipeline.sources.masks.names import CLASSES, DEPTH, IMAGES, label_kind, role_of
from beam_pipeline.sources.masks.twins import map_suffix, samples, twins_of
from beam_pipeline.sources.paths import (
    below,
    folder,
    has_image_suffix,
    name_of,
    shared_name,
    suffix,
)
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.split_names import split_of_folders

_MAPS_LOOKED_INTO = 16
# Cityscapes has several files per image; the first of these kinds is read.
_LABELS = ("labelTrainIds", "labelIds")
# Size limit of a file that names classes.
_MOST_BYTES = 1 << 20
# Maps in their own folders come before maps next to their images.
_WAYS = ((True, CLASSES), (True, DEPTH), (False, CLASSES), (False, DEPTH))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maps:
    """Maps in their own folders, or next to their images with names such as "a_mask.png".

    Attributes:
        root: The absolute folder that paths are relative to.
        meaning: Meaning of the pixels.
        by_folder: Whether maps are in their own folders.
        labels: Kind of Cityscapes file to read, such as "labelIds"; "" in other trees.
        tables: The files that name the classes.
        twin: Suffix of maps that have the name of their image; "" for none.
        classes: The roles of folders if maps with `twin` are in class folders, else None.
    """

    root: str
    meaning: Meaning
    by_folder: bool
    labels: str = ""
    tables: frozenset[str] = frozenset()
    twin: str = ""
    classes: FolderRoles | None = None

    def annotates(self, path: str) -> bool:
        """Whether a file is one of the maps, judged by its name."""
        if not has_image_suffix(path):
            return False
        if self.twin:
            return suffix(path) == self.twin
        shows = role_of(folder(path)).shows
        if not self.by_folder:
            return shows in ("", IMAGES) and names.is_marked(path, self.meaning.shows)
        return shows == self.meaning.shows and (not self.labels or label_kind(path) == self.labels)

    def is_media(self, path: str) -> bool:
        """Whether a file may have a map."""
        is_other = self.by_folder and role_of(folder(path)).shows not in ("", IMAGES)
        return has_image_suffix(path) and not is_other

    @property
    def pairing(self) -> Pairing:
        """How the maps are paired with their images."""
        classes = dict(enumerate(self.meaning.names))
        declared = DeclaredClasses(feature="segmentation", names=classes)
        return Pairing(
            suffix="",
            noun="map",
            parse=self.parse,
            max_bytes=0,
            is_annotation=self.annotates,
            is_media=self.is_media,
            image_key=names.image_key,
            image_keys=_image_keys,
            split_of=_split_of,
            set_folders=("segmentation", "main", ""),
            declared=(declared,) if classes else (),
        )

    def parse(self, data: bytes, annotation: str) -> Parsed:
        """The map as a feature, and the class of its folder."""
        value = Map(
            file=FileRef(path=below(self.root, annotation)),
            shows=self.meaning.shows,
            colors=self.meaning.colors,
            num_classes=len(self.meaning.names),
        )
        features: dict[str, Value] = {"depth" if value.shows == DEPTH else "segmentation": value}
        if self.classes:
            features["label"] = self.classes.label_of(annotation)
        return features, Counter()


def _image_keys(annotation: str, name: str) -> Sequence[str]:
    return names.image_keys(annotation)


def _split_of(path: str) -> str | None:
    return split_of_folders(f"{role_of(folder(path)).shared}/")


def claim_masks(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim maps by their folders or names and by their pixels."""
    pairs = _found(tree, is_named=config.layout == "masks") if tree.is_folder else []
    if not pairs:
        return None
    files = pairs[0]
    problem = files.meaning.problem
    if len(pairs) > 1:
        one, other = (_called(tree, each) for each in pairs[:2])
        problem = two_maps(one, other)
    homes = Counter(map(folder, _maps(tree, files)))
    classes = (("classes", files.meaning.text),) if files.meaning.text else ()
    what = tree.describe_counts(homes, "map")
    source = ReadSideFiles.of(tree, files.pairing)
    claim = claim_of_pairs("masks", tree, source, what, noun="maps")
    return dataclasses.replace(
        claim,
        reads=tuple(sorted(files.tables)),
        understood=(*claim.understood, *classes),
        problem=problem,
    )


def _called(tree: Tree, files: Maps) -> str:
    """Pattern that matches the maps for `--ignore`: their folder, or the end of their names."""
    first = min(_maps(tree, files))
    if files.by_folder:
        return folder(first)
    return f"*{name_of(first).removeprefix(names.common_name(shared_name(first)))}"


def _found(tree: Tree, *, is_named: bool) -> list[Maps]:
    """Ways to read the maps of a tree: several if it has classes and depths."""
    ways = [files for way in _WAYS if (files := _way(tree, *way))]
    by_folder = [files for files in ways if files.by_folder]
    if not ways and is_named and (twins := _twins_as_maps(tree)):
        return [twins]
    return by_folder or ways


def _twins_as_maps(tree: Tree) -> Maps | None:
    """Read images that have the name of another, in class folders or not, as its maps."""
    twins = twins_of(tree)
    if not twins or not (twin := map_suffix(tree, twins)):
        return None
    seen = [*samples(tree, twins.sampled(twin))]
    classes = main_structure(structures(tree.names()))
    has_classes = len(classes.classes()) > 1
    return _understood(
        tree,
        Maps(
            root=tree.root,
            meaning=Meaning(),
            by_folder=False,
            twin=twin.lower(),
            classes=classes.roles() if has_classes else None,
        ),
        [each for each in seen if is_map(each, CLASSES)],
    )


def _way(tree: Tree, by_folder: bool, shows: str) -> Maps | None:
    files = Maps(root=tree.root, meaning=Meaning(shows=shows), by_folder=by_folder)
    if not (maps := _maps(tree, files)):
        return None
    kinds = set(map(label_kind, maps))
    labels = next((label for label in _LABELS if label in kinds), "")
    files = dataclasses.replace(files, labels=labels)
    maps = _maps(tree, files)
    images = _Images(tree, files.pairing)
    first = maps[:: max(1, len(maps) // _MAPS_LOOKED_INTO)][:_MAPS_LOOKED_INTO]
    if by_folder and shows == CLASSES and (home := images.with_objects(maps)):
        problem = Problem(code="a mask an object", facts={"folder": home})
        return dataclasses.replace(files, meaning=Meaning(problem=problem))
    paired = list(filter(images.has_one_of, first))
    seen = list(samples(tree, paired))
    likely = [each for each in seen if is_map(each, shows)]
    if len(paired) * 2 < len(first) or not likely or len(likely) * 2 < len(seen):
        return None
    files = _understood(tree, files, likely)
    if by_folder and (homes := _two_homes(maps)):
        meaning = dataclasses.replace(files.meaning, problem=two_maps(*homes))
        files = dataclasses.replace(files, meaning=meaning)
    return files


def _understood(tree: Tree, files: Maps, likely: Sequence[MapSample]) -> Maps:
    """Add the meaning of the pixels, and the files that state it."""
    shows = files.meaning.shows
    where, table = _table(tree) if shows == CLASSES else ("", None)
    tables = {path for path in tree.files() if name_of(path) == (where and name_of(where))}
    meaning = meaning_of(likely, shows, table, where)
    return dataclasses.replace(files, meaning=meaning, tables=frozenset(tables))


def _two_homes(maps: Sequence[str]) -> tuple[str, str] | None:
    first: dict[str, str] = {}
    for path in maps:
        other = folder(first.setdefault(names.image_keys(path)[-1], path))
        if other != folder(path):
            return other, folder(path)
    return None


class _Images:
    """The images of a tree, listed or not."""

    def __init__(self, tree: Tree, files: Pairing) -> None:
        pairs = pairs_in(tree, files)
        images = sorted({image for image, _, _ in pairs})
        self._tree = tree
        self._paired = {annotation for _, annotation, _ in pairs}
        self._numbers = Counter(role_of(folder(path)).shared for path in images)
        self._homes: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for path in images:
            shared = role_of(folder(path)).shared
            self._homes[shared].add((folder(path), path[-1 - len(suffix(path)) :]))

    def with_objects(self, maps: Sequence[str]) -> str:
        """Return the first folder of maps if each has a single image with another name."""
        homes = {folder(path): role_of(folder(path)).shared for path in maps}
        of_one = all(shared and self._numbers[shared] == 1 for shared in homes.values())
        return min(homes) if of_one and not any(map(self.has_one_of, maps)) else ""

    def has_one_of(self, path: str) -> bool:
        """Whether a map's image exists."""
        return path in self._paired or any(map(self._is_there, names.image_keys(path)))

    def _is_there(self, key: str) -> bool:
        shared, name, _ = key.rsplit("/", 2)
        return any(
            storage.exists(self._tree.path(f"{home}/{name}{ending}"))
            for home, ending in self._homes[shared]
            if not self._tree.look(home).is_whole
        )


def _maps(tree: Tree, files: Maps) -> list[str]:
    return sorted(filter(files.annotates, tree.files()))


def _table(tree: Tree) -> tuple[str, Classes | None]:
    """Find the file that names the classes of maps, one with colours first, and its classes."""
    classes_by_file: dict[str, Classes] = {}
    for path in sorted(filter(is_table, tree.files()), key=lambda each: (each.count("/"), each)):
        with contextlib.suppress(RecordError):  # too large or not text; reported as not read
            if classes := read_table(storage.read_text(tree.path(path), _MOST_BYTES), path):
                classes_by_file[path] = classes
    if not classes_by_file:
        return "", None
    where = max(classes_by_file, key=lambda path: bool(classes_by_file[path].colors))
    for path, classes in classes_by_file.items():
        if name_of(path) == name_of(where) and classes != classes_by_file[where]:
            raise ConfigError(f"{where} and {path} name different classes; make them agree")
    return where, classes_by_file[where]


LAYOUT = Layout(
    name="masks",
    sign="masks/*.png and images/, or a_mask.png next to a.jpg",
    takes=(),
    claim=claim_masks,
)
