"""Annotation files whose items describe one image each, by its name.

A format (`ItemFormat`) states how its files begin and parses an item; this module finds files,
splits and images, and makes the records.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import (
    ClassLabel,
    ClassLabels,
    Consumed,
    DeclaredClasses,
    Element,
    FileRef,
    Image,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.running.gathering import Share
from beam_pipeline.sources.annotations.shapes import OBJECTS, Shapes
from beam_pipeline.sources.file_index import FileIndex
from beam_pipeline.sources.json_items import JsonSign, items
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.paths import (
    below,
    name_of,
    parent,
    stem,
    suffix,
    uncompressed,
    upload_notes,
    without_upload_prefix,
)
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tree import NOTHING, Ignored, NamingFile, Tree, shown
from tfrecord_dataset.format.split_names import is_split, split_of_folders, split_of_name
from tfrecord_dataset.store.urls import unsigned

# Roboflow's file name; its folder is always a split.
NEXT_TO_IMAGES = "_annotations.coco.json"
_IMAGE_FOLDERS = ("images", "data")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnnotationFile(NamingFile):
    """One file of annotations.

    Attributes:
        folders: Folders that image names may be relative to, likeliest first.
        ignored: Paths below `root` to leave out.
    """

    folders: tuple[str, ...]
    ignored: Ignored = NOTHING

    @classmethod
    def of(
        cls,
        root: str,
        relative: str,
        config: BuildConfig,
        image_set: str = "",
    ) -> Self:
        """Make a file from its path below the dataset's folder, `root`.

        `image_set` names the image folder if the split does not: "train2017".
        """
        path = storage.join(root, relative)
        split = split_of_file(path, relative)
        images = storage.absolute(config.image_root).rstrip("/") if config.image_root else None
        names = [*filter(None, (image_set or stem(relative), split))]
        folders = []
        for base in [images] if images else dict.fromkeys([base_of(path), parent(path), root]):
            for inner in ("", *_IMAGE_FOLDERS):
                folders += [storage.join(base, inner, name) for name in names]
            folders += [*(storage.join(base, home) for home in _IMAGE_FOLDERS), base]
        return cls(
            path=path,
            relative=relative,
            split=split,
            root=images or root,
            folders=tuple(dict.fromkeys(folders)),
            allowed=(root, *config.allow_outside),
            ignored=NOTHING if images else Ignored.of(config, root),
        )


class Images:
    """Locate the images of an annotation file: in the first image's folder, else by name."""

    def __init__(self, file: AnnotationFile) -> None:
        self._file = file
        self._folder: str | None = None  # "" if none has the image

    def locate(self, name: str) -> tuple[str, str]:
        """Return the key and the path of the image called `name`; raise as `paths.locate`."""
        file = self._file
        if self._folder is None:
            self._folder = next((each for each in file.folders if self._has(each, name)), "")
        if self._folder and (not without_upload_prefix(name) or self._has(self._folder, name)):
            return file.locate(name, self._folder)
        if key := FileIndex.of(file.root, file.ignored).find(name, file.split or ""):
            return key, below(file.root, key)
        there = next(filter(storage.is_directory, file.folders), file.folders[-1])
        return file.locate(name, there)

    def _has(self, folder: str, name: str) -> bool:
        try:
            return storage.exists(self._file.locate(name, folder)[1])
        except RecordError:  # outside the input
            return False


def base_of(path: str) -> str:
    """Return the dataset's folder of an annotation file."""
    folder = parent(path)
    return parent(folder) if name_of(folder).lower() == "annotations" else folder


def below_base(path: str, reads: Sequence[str]) -> list[tuple[str, str]]:
    """Split the files that a claim reads into (dataset's folder, path below it)."""
    if storage.is_directory(path):
        return [(path, each) for each in reads]
    base = base_of(path)
    return [(base, unsigned(path).removeprefix(f"{unsigned(base)}/"))]


def split_of_file(path: str, relative: str) -> str | None:
    """The split in a file's name ("train" in instances_train2017.json), else its folder's."""
    folder = name_of(parent(path))
    if name_of(path) == NEXT_TO_IMAGES and ("/" in relative or is_split(folder)):
        return folder
    return split_of_name(relative) or split_of_folders(relative)


# Size limit of a text that is read into memory.
MAX_TEXT_BYTES = 256 << 20
_FILES_LOOKED_INTO = 20


class Item(NamedTuple):
    """Features of one image except the image itself, and notes of what is not kept.

    Attributes:
        name: Name of the image in the file.
        group: Images of a group share a split.
        split: The image's split, if the file states it.
    """

    name: str
    features: Mapping[str, Value]
    notes: Mapping[str, int] = Counter()
    group: str | None = None
    split: str | None = None


def label_of(names: Sequence[str]) -> ClassLabel | ClassLabels:
    """Class of a whole image, or classes if several; raise RecordError if invalid."""
    classes = tuple(map(str.strip, names))
    if "" in classes:
        raise malformed("a class of the image has no name")
    return ClassLabel(classes[0]) if len(classes) == 1 else ClassLabels(classes)


def listed(path: str, noun: str = "image", member: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the items of a list in one member of a JSON file, or of a file that is a list."""
    return ((f"{noun} {number}", each) for number, each in enumerate(items(path, member), start=1))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ItemFormat:
    """Annotation files of one format.

    Attributes:
        suffix: Suffix of the files, in lower case.
        sign: Matches their first bytes.
        item: Parse a stated item, with an empty collection for its shapes; raise RecordError if it
            is invalid.
        stated: Yield (place, item) from the file at a path, such as ("task 3", …); classes come
            first. Raise RecordError if the file cannot be read.
        depth: Maximum number of folders above a file.
        name: Required file name; "" for any.
    """

    suffix: str
    sign: re.Pattern[bytes] | JsonSign
    item: Callable[[Any, Shapes], Item]
    stated: Callable[[str], Iterator[tuple[str, Any] | DeclaredClasses]] = listed
    depth: int = 1
    name: str = ""

    def may_be_one(self, path: str) -> bool:
        """Whether a file's name fits the format."""
        is_called = self.name in ("", path.rpartition("/")[2])
        has_suffix = suffix(uncompressed(path)) == self.suffix
        return has_suffix and is_called and path.count("/") <= self.depth


@dataclasses.dataclass
class ReadItems(beam.PTransform):
    """Images named in annotation files, with their annotations.

    Yields a Record for every item, DeclaredClasses, and a bad Rejected for every invalid item or
    file. Each format has its own suffix; `points` is the meaning of ungrouped points.
    """

    files: Sequence[AnnotationFile]
    formats: tuple[ItemFormat, ...]
    points: str = OBJECTS

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            pipeline
            | "Files" >> Share(self.files)  # AnnotationFile
            | "ReadItems" >> beam.FlatMap(read_items, self.formats, self.points)  # Element
        )


def read_items(
    file: AnnotationFile, formats: Sequence[ItemFormat], points: str = OBJECTS
) -> Iterator[Element]:
    """Yield the elements of one file."""
    ending = suffix(uncompressed(file.relative))
    format = next((each for each in formats if each.suffix == ending), formats[0])
    images, seen = Images(file), set[int]()
    try:
        for each in format.stated(file.path):
            if isinstance(each, DeclaredClasses):
                yield each
                continue
            source = f"{file.relative}: {each[0]}"
            try:
                item = format.item(each[1], Shapes(points=points))
                key, path = images.locate(item.name)
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
                notes=Counter(item.notes) + upload_notes(item.name, key),
            )
    except RecordError as error:
        yield Rejected.of(file.relative, error)
    yield Consumed(paths=(file.path,))


def annotation_files(tree: Tree, formats: Sequence[ItemFormat], *, is_named: bool) -> list[str]:
    """Sorted files of the formats near the root of a tree, by their first bytes."""
    if tree.is_folder:
        paths = sorted({path for each in formats for path in tree.files_with(each.suffix)})
    else:
        paths = [*tree.files()] if tree.is_file else []
    likely = [(path, each) for path in paths for each in formats if each.may_be_one(path)]
    files: list[str] = []
    for number, (path, each) in enumerate(likely):
        if not files and number == _FILES_LOOKED_INTO:
            break
        if each.sign.search(tree.head(path)):
            files.append(path)
    return files or [path for path, _ in likely if is_named]


def layout_of(name: str, sign: str, *formats: ItemFormat, takes_points: bool = False) -> Layout:
    """Make the layout of files in these formats."""

    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        reads = annotation_files(tree, formats, is_named=config.layout == name)
        if not reads:
            return None
        files = [AnnotationFile.of(*each, config) for each in below_base(tree.input, reads)]
        return Claim(
            layout=name,
            rank=Rank.ANNOTATIONS,
            path=tree.input,
            reads=tuple(reads),
            understood=(("files", shown(reads, "file")),),
            plan=ReadItems(files, formats, config.points),
        )

    takes = ("image_root", *(("points",) if takes_points else ()))
    return Layout(name=name, sign=sign, claim=claim, takes=takes)
