"""Files whose items describe one image each, by its name: what is read, and where images lie.

A format states how its files begin and what an item says (`ItemFiles`); finding files, their splits
and images, and the records are done for it.
"""

import abc
import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import (
    ClassLabel,
    ClassLabels,
    DeclaredClasses,
    Element,
    FileRef,
    Image,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.sources.annotations.shapes import OBJECTS, Shapes
from beam_pipeline.sources.gather import Gather, ReadFiles
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.image_folders import (
    AnnotationFile,
    annotation_file,
    base_of,
    image_folder,
    located,
)
from beam_pipeline.sources.layout import Layout, Place, read_by
from beam_pipeline.sources.nesting import items
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.tree import Tree, head, shown
from tfrecord_dataset.split_names import split_of_folders
from tfrecord_dataset.store.urls import unsigned

_PROBED_IMAGES = 3
_FILES_LOOKED_INTO = 20


class Item(NamedTuple):
    """What a file says of one image.

    Attributes:
        name: As it calls the image.
        features: Beside the image.
        notes: What is not kept.
        group: Of images that must share a split.
        split: Of the image, where the file says it of each.
    """

    name: str
    features: Mapping[str, Value]
    notes: Mapping[str, int] = Counter()
    group: str | None = None
    split: str | None = None


def label_of(names: Sequence[str]) -> ClassLabel | ClassLabels:
    """The class of a whole image, or its classes where several are stated."""
    return ClassLabel(names[0]) if len(names) == 1 else ClassLabels(tuple(names))


@dataclasses.dataclass(frozen=True)
class ItemFiles(abc.ABC):
    """Annotation files of one format.

    Attributes:
        suffix: Of their names, in lower case.
        sign: What their first bytes have.
        places: Folders, beside those named after a split, where images may lie; with "{split}" of
            the file's split alone.
        depth: Folders above a file, at most.
        name: What all such files are called; "" where they have names of their own.
        list_name: Of a JSON file, what the list of its items is called; "" of one that is a list.
        noun: What an item is, for messages.
        gives_points: Whether `points` counts.
        points: What points in no group are: "objects" or "landmarks".
    """

    suffix: ClassVar[str]
    sign: ClassVar[re.Pattern[bytes]]
    places: ClassVar[tuple[str, ...]] = ("images", "data")
    depth: ClassVar[int] = 1
    name: ClassVar[str] = ""
    list_name: ClassVar[str] = ""
    noun: ClassVar[str] = "image"
    gives_points: ClassVar[bool] = False

    points: str = OBJECTS

    def shapes(self) -> Shapes:
        """Of one image, without any."""
        return Shapes(points=self.points)

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any] | DeclaredClasses]:
        """What a file states, item by item, and which item it is: "task 3"; classes come first.

        Raises:
            RecordError: The file cannot be read.
        """
        for number, each in enumerate(items(file.path, self.list_name), start=1):
            yield f"{self.noun} {number}", each

    @abc.abstractmethod
    def item(self, stated: Any) -> Item:
        """What is said of one image.

        Raises:
            RecordError: It cannot be used.
        """

    def items(
        self, file: AnnotationFile
    ) -> Iterator[tuple[str, Item | RecordError] | DeclaredClasses]:
        """The items of a file, or why one cannot be used."""
        for each in self.stated(file):
            if isinstance(each, DeclaredClasses):
                yield each
                continue
            where, stated = each
            try:
                yield where, self.item(stated)
            except RecordError as error:
                yield where, error

    def is_one(self, path: str) -> bool:
        """Whether the file at a path begins as these do."""
        return self.may_be_one(unsigned(path)) and bool(self.sign.search(head(path)))

    def may_be_one(self, path: str) -> bool:
        """Whether a file is called as these are."""
        return suffix(path) == self.suffix and self.name in ("", path.rpartition("/")[2])


@dataclasses.dataclass
class ReadItems(beam.PTransform):
    """The images that files name, with what they say of each.

    Yields a Record for every item; DeclaredClasses; a bad Rejected for every item, or file, that
    cannot be used.

    Attributes:
        path: A file, or the folder that holds such files at its top, or a folder below.
        formats: What the files may be, each with a suffix of its own.
        image_root: The folder of the images, where it is another one.
        allow_outside: Folders elsewhere whose images may be named, too.
        ignored: Files that are left out.
    """

    path: str
    formats: tuple[ItemFiles, ...]
    image_root: str | None = None
    allow_outside: Sequence[str] = ()
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        path = storage.absolute(self.path).rstrip("/") or "/"
        images = storage.absolute(self.image_root).rstrip("/") if self.image_root else None
        if storage.is_directory(path):
            root, paths = path, _in_folder(path, self.formats, self.ignored)
        else:
            root = base_of(path)
            paths = [unsigned(path).removeprefix(f"{unsigned(root)}/")]
        if not paths:
            raise ConfigError(f"{path} holds no file of this layout; give the file itself")
        places = self.formats[0].places
        usual = tuple(place for place in places if "{" not in place)
        files = [
            dataclasses.replace(
                each,
                split=each.split or split_of_folders(each.relative),
                image_folders=each.image_folders
                if images
                else (*each.image_folders, *_at_root(root, places, each.split)),
            )
            for each in (
                annotation_file(root, each, images, usual, allowed=self.allow_outside)
                for each in paths
            )
        ]
        read = ItemReader(self.formats)
        return pipeline | ReadFiles(files, [], read) | Gather(_nothing_to_join)


@dataclasses.dataclass(frozen=True)
class ItemReader:
    """From a file to elements."""

    formats: tuple[ItemFiles, ...]

    def __call__(self, file: AnnotationFile) -> Iterator[Element]:
        ending = suffix(unsigned(file.path))
        format = next((each for each in self.formats if each.suffix == ending), self.formats[0])
        items = format.items(file)
        try:
            first = list(itertools.islice(items, _PROBED_IMAGES))
            told = [each[1] for each in first if isinstance(each, tuple)]
            names = [each.name for each in told if isinstance(each, Item)]
            folder, num_left_out = image_folder(file, names)
            seen: set[int] = set()
            for each in itertools.chain(first, items):
                if isinstance(each, DeclaredClasses):
                    yield each
                    continue
                where, item = each
                source = f"{file.relative}: {where}"
                try:
                    if isinstance(item, RecordError):
                        raise item
                    key, path = located(file, item.name, folder, num_left_out)
                    if hash(key) in seen:
                        raise RecordError("two annotations", f"{key} has been described before")
                except RecordError as error:
                    yield Rejected.of(source, error)
                    continue
                seen.add(hash(key))
                yield Record(
                    key=key,
                    features={"image": Image(file=FileRef(path=path)), **item.features},
                    split=item.split or file.split,
                    group=item.group,
                    source=source,
                    notes=item.notes,
                )
        except RecordError as error:
            yield Rejected.of(file.relative, error)


def _nothing_to_join(key: str, values: list[Any]) -> Iterator[Element]:
    yield from ()  # all elements are finished when they are read


def _at_root(root: str, places: Sequence[str], split: str | None) -> Iterator[str]:
    """Folders below a dataset's own in which images may lie."""
    for place in places:
        if split:
            yield storage.join(root, place.format(split=split), split)
            yield storage.join(root, place.format(split=split))
        elif "{" not in place:
            yield storage.join(root, place)
    yield root


def _in_folder(path: str, formats: Sequence[ItemFiles], ignored: Ignored) -> list[str]:
    """The files of some formats in a folder; those that lie deep in all of it."""
    if max(each.depth for each in formats) == 1:
        return found_in(Tree(path, ignored), formats)
    names = (file.relative for file in storage.list_files(path))
    meant = (name for name in names if any(each.may_be_one(name) for each in formats))
    return sorted(name for name in meant if not ignored(name))


def found_in(tree: Tree, formats: Sequence[ItemFiles]) -> list[str]:
    """The files of some formats at the top of a tree, sorted.

    Where none of the first few is one, further ones are not looked into.
    """
    likely = (
        (path, each)
        for path in sorted({path for each in formats for path in tree.files_with(each.suffix)})
        for each in formats
        if path.count("/") <= each.depth and each.may_be_one(path)
    )
    found: list[str] = []
    for number, (path, each) in enumerate(likely):
        if not found and number == _FILES_LOOKED_INTO:
            break
        if each.sign.search(tree.head(path)):
            found.append(path)
    return found


def layout_of(name: str, sign: str, *formats: ItemFiles) -> Layout:
    """The layout of files of such formats."""

    def places(tree: Tree) -> list[Place]:
        found = found_in(tree, formats)
        return [Place("", shown(found, "file"), files=tuple(found))] if found else []

    def told(config: BuildConfig) -> tuple[ItemFiles, ...]:
        return tuple(dataclasses.replace(each, points=config.points) for each in formats)

    reads = read_by(ReadItems, formats=told)
    if any(each.gives_points for each in formats):
        reads["takes"] = {*reads["takes"], "points"}
    return Layout(
        name=name,
        sign=sign,
        kind="annotations",
        **reads,
        suffixes=tuple(each.suffix for each in formats if each.suffix != "txt"),
        find=places,
        begins=lambda path: any(each.is_one(path) for each in formats),
    )
