"""The layout `masks`: images, and a map of the classes or depths of each one's pixels."""

import contextlib
import dataclasses
import itertools
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.maps import Seen, see
from beam_pipeline.records import FileRef
from beam_pipeline.sources.as_tables import making
from beam_pipeline.sources.folders.masks import may_be_marked
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Place
from beam_pipeline.sources.masks.files import MaskFiles
from beam_pipeline.sources.masks.known import classes_of
from beam_pipeline.sources.masks.meaning import (
    MOST_MAP_BYTES,
    Classes,
    Meaning,
    counted_as,
    few,
    is_map,
    is_of_other_maps,
    is_table,
    meaning_of,
    read_table,
)
from beam_pipeline.sources.masks.names import (
    CLASSES,
    DEPTH,
    OF_BDD,
    common_name,
    image_key,
    image_keys,
    label_kind,
    place_of,
)
from beam_pipeline.sources.paths import (
    folder,
    has_image_suffix,
    input_folder,
    joined,
    shared_name,
    split_at,
    suffix,
)
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.side_files.files import Survey
from beam_pipeline.sources.side_files.layout import described
from beam_pipeline.sources.side_files.read import ReadSideFiles
from beam_pipeline.sources.table_forms import OF_MASKS
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.split_names import is_of_training, split_in_name

_MAPS_LOOKED_INTO = 16
# Cityscapes has several files an image; of these the first that is there.
_LABELS = ("labelTrainIds", "labelIds")
# Of a file that names classes.
_MOST_BYTES = 1 << 20
_UNITED = "in a map per image (docs/layouts.md#several-masks-of-one-image)"
# Maps in folders of their own come before those that their names tell.
_WAYS = ((True, CLASSES), (True, DEPTH), (False, CLASSES), (False, DEPTH))


def find_masks(tree: Tree) -> list[Place]:
    """Maps of images in `tree`, told by their folders or names, and by what they hold."""
    found = _found(tree)
    if not found:
        return []
    files = found[0]
    counts = Counter(map(folder, _maps(tree, files)))
    what = described(tree, files, counts)
    doubt = files.meaning.doubt or _without_train(tree, counts)
    if len(found) > 1:
        first, other = (_called(tree, each) for each in found[:2])
        doubt = (
            f"{first[0]} and {other[0]} both hold maps of the images, of which a build reads "
            f"one; leave one out by --ignore {shlex.quote(other[1])}"
        )
    words = f", {files.meaning.words}" if files.meaning.words else ""
    return [Place("", what + words + _unread(counts, files), doubt)]


def _without_train(tree: Tree, homes: Iterable[str]) -> str:
    """That all maps are of a split to test with, and no map of the images to train with is told."""
    splits = [split_in_name(home.partition("/")[0]) for home in homes]
    tops = sorted({path.partition("/")[0] for path in _paths(tree) if "/" in path})
    train = list(filter(is_of_training, tops))
    if not all(splits) or not train or any(split and split.startswith("train") for split in splits):
        return ""
    return (
        f"no maps are told of the images in {train[0]}/; give their maps folders or names of their "
        f"own (docs/layouts.md), or read the others alone by --ignore {shlex.quote(train[0])}"
    )


def _unread(counts: Counter[str], files: MaskFiles) -> str:
    """That folders beside those of maps and splits are not classes, nor other folders splits."""
    homes = [f"{home}/" for home in counts]
    if len({place_of(home).shared for home in counts}) < 2 or all(
        map(files.split_of_folder, homes)
    ):
        return ""
    return f", and the folders are not read as {'splits or ' if files.by_folder else ''}classes"


def _called(tree: Tree, files: MaskFiles) -> tuple[str, str]:
    """Where maps lie, and a pattern of them: a folder, or how their names end."""
    first = min(_maps(tree, files))
    if files.by_folder:
        home = folder(first)
        return f"{home}/", home.rpartition("/")[2]
    ending = name_of(first).removeprefix(common_name(shared_name(first)))
    return f"*{ending}", f"*{ending}"


def _found(tree: Tree) -> list[MaskFiles]:
    """How maps in `tree` can be read: in several ways where there are classes and depths."""
    ways = [files for way in _WAYS if (files := _way(tree, *way))]
    by_folder = [files for files in ways if files.by_folder]
    return by_folder or ways


def _way(tree: Tree, by_folder: bool, shows: str) -> MaskFiles | None:
    files = MaskFiles(root=tree.root, meaning=Meaning(shows=shows), by_folder=by_folder)
    if not (maps := _maps(tree, files)):
        return None
    kinds = set(map(label_kind, maps))
    labels = next((each for each in _LABELS if each in kinds), "")
    files = dataclasses.replace(files, labels=labels)
    maps = [path for path in maps if files.annotates(path)]
    images = _Images(tree, [each for each in _paths(tree) if files.role(each, Survey()) == "image"])
    first = few(maps, _MAPS_LOOKED_INTO)
    if by_folder and shows == CLASSES and (home := images.with_objects(maps)):
        made = making(tree.path(OF_MASKS.table), tree.root, tree.path(home))
        made_of_it = f"make a table of them by {made}, and give that; or "
        is_beside = any(
            folder(path) != home and folder(folder(path)) == folder(home) for path in _paths(tree)
        )
        doubt = f"{home}/ {OF_MASKS.what}: {made_of_it if is_beside else ''}unite them {_UNITED}"
        return dataclasses.replace(files, meaning=Meaning(doubt=doubt))
    paired = list(filter(images.has_one_of, first))
    seen = list(_seen(tree, paired))
    likely = [each for each in seen if is_map(each, shows)]
    if len(paired) * 2 < len(first) or not likely or len(likely) * 2 < len(seen):
        return None
    where, table = _table(tree, maps) if shows == CLASSES else ("", None)
    meaning = meaning_of(likely, shows, table or classes_of(maps), where)
    if by_folder and (doubt := _twins(maps)):
        meaning = dataclasses.replace(meaning, doubt=doubt)
    tables = {path for path in tree.files() if name_of(path) == (where and name_of(where))}
    of_context = any(split_at(path, "segmentationclasscontext") for path in maps[:1])
    return dataclasses.replace(
        files,
        meaning=meaning,
        tables=frozenset(tables),
        task=f"segmentation{'context' * of_context}",
    )


def _twins(maps: Sequence[str]) -> str:
    """That two folders hold maps of the same images, and what leaves one out; "" without such."""
    tasks = sorted({found[0] for path in maps if (found := OF_BDD.search(path.lower()))})
    if len(tasks) > 1:
        ways = " or ".join(f"--ignore {each}" for each in tasks)
        return f"{' and '.join(tasks)} hold maps of other classes; leave one out by {ways}"
    first: dict[str, str] = {}
    for path in maps:
        other = folder(first.setdefault(image_keys(path)[-1], path))
        if other != folder(path):
            parts = itertools.zip_longest(other.split("/"), folder(path).split("/"))
            pair = next(pair for pair in parts if pair[0] != pair[1])
            ways = " or ".join(f"--ignore {shlex.quote(each)}" for each in pair if each)
            return (
                f"{other}/ and {folder(path)}/ both hold maps of the same images, of which a build "
                f"reads one; leave one out by {ways}"
            )
    return ""


class _Images:
    """The images of a tree, of which not all need be listed."""

    def __init__(self, tree: Tree, images: Sequence[str]) -> None:
        self._tree = tree
        self._keys = frozenset(map(image_key, images))
        self._numbers = Counter(place_of(folder(path)).shared for path in images)
        self._homes: dict[str, set[tuple[str, str]]] = {}
        for path in images:
            key = image_key(path).rpartition("/")[0]
            self._homes.setdefault(key, set()).add((folder(path), path[-1 - len(suffix(path)) :]))

    def with_objects(self, maps: Sequence[str]) -> str:
        """The first folder of maps, if each lies beside one image that has none of their names."""
        homes = {folder(path): place_of(folder(path)).shared for path in maps}
        of_one = all(shared and self._numbers[shared] == 1 for shared in homes.values())
        if not of_one or any(map(self.has_one_of, maps)):
            return ""
        return min(homes)

    def has_one_of(self, path: str) -> bool:
        """Whether there is an image of the map at a path."""
        keys = image_keys(path)
        return not self._keys.isdisjoint(keys) or any(map(self._is_there, keys))

    def _is_there(self, key: str) -> bool:
        shared, _, name = key.rpartition("/")
        return any(
            storage.exists(self._tree.path(f"{home}/{name}{ending}"))
            for home, ending in self._homes.get(shared, ())
            if not self._tree.look(home).is_whole
        )


def _maps(tree: Tree, files: MaskFiles) -> list[str]:
    """The maps of a tree by their names, sorted."""

    def may_hold(home: str, names: Sequence[str]) -> bool:
        if files.by_folder:
            return place_of(home).shows == files.meaning.shows
        if files.meaning.shows == DEPTH:
            return any(DEPTH in name.lower() for name in names)
        return may_be_marked(names)

    homes = ((home, names) for home, names in tree.names() if may_hold(home, names))
    paths = (joined(home, name) for home, names in homes for name in names)
    return sorted(filter(files.annotates, paths))


def _paths(tree: Tree) -> list[str]:
    return sorted(filter(has_image_suffix, tree.files()))


def _seen(tree: Tree, paths: Sequence[str]) -> Iterator[Seen]:
    """What those of the files that are images hold."""
    for path in paths:
        try:
            yield see(
                storage.read_bytes(FileRef(path=tree.path(path)), MOST_MAP_BYTES),
                DECODER_MAX_PIXELS,
            )
        except RecordError:  # it will be rejected by its name
            continue


def _table(tree: Tree, maps: Sequence[str]) -> tuple[str, Classes | None]:
    """The file that names the classes of maps, and these; one with colours comes first.

    Raises:
        ConfigError: Files of one name say different things.
    """
    found: dict[str, Classes] = {}
    tables = (each for each in filter(is_table, tree.files()) if not is_of_other_maps(each, maps))
    for path in sorted(tables, key=lambda each: (each.count("/"), each)):
        with contextlib.suppress(RecordError):  # too large, or no text: it is told as not read
            data = storage.read_bytes(FileRef(path=tree.path(path)), _MOST_BYTES)
            if classes := read_table(storage.decoded(data, path), path):
                found[path] = counted_as(classes, path, maps)
    if not found:
        return "", None
    where = next((path for path, classes in found.items() if classes.colors), next(iter(found)))
    for path, classes in found.items():
        if name_of(path) == name_of(where) and classes != found[where]:
            raise ConfigError(f"{where} and {path} name different classes; make them agree")
    return where, found[where]


def read_masks(claim: Claim, config: BuildConfig, scratch: str) -> ReadSideFiles:
    """What reads the images with their maps below a folder.

    Raises:
        ConfigError: There are none.
    """
    path = claim.path
    root, ignored = input_folder(path), Ignored.of(config, path)
    found = _found(Tree(root, ignored))
    if not found:
        raise ConfigError(f"{path} holds no maps beside images; leave out --layout masks")
    return ReadSideFiles(root, found[0], ignored=ignored)


LAYOUT = Layout(
    name="masks",
    sign="masks/*.png and images/, or a_mask.png next to a.jpg",
    kind="annotations",
    read=read_masks,
    takes=(),
    find=find_masks,
    accept=lambda folder: "",
)
