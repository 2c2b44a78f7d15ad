"""Files whose items describe one image each, by its name.

A format states how its files begin and what an item says (`ItemFiles`); finding files, their splits
and images, and the records are done for it.
"""

import abc
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
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
from beam_pipeline.sources.annotations.image_files import (
    AnnotationFile,
    Images,
    annotation_file,
    below_base,
)
from beam_pipeline.sources.annotations.shapes import OBJECTS, Shapes
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.json_items import items
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.paths import suffix, uncompressed
from beam_pipeline.sources.tree import Tree, head, shown
from tfrecord_dataset.store.urls import unsigned

_FILES_LOOKED_INTO = 20


class Item(NamedTuple):
    """What a file says of one image.

    Attributes:
        name: As it calls the image.
        features: Other than the image.
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
    classes = tuple(map(str.strip, names))
    return ClassLabel(classes[0]) if len(classes) == 1 else ClassLabels(classes)


@dataclasses.dataclass(frozen=True)
class ItemFiles(abc.ABC):
    """Annotation files of one format.

    Attributes:
        suffix: Of their names, in lower case.
        sign: What their first bytes have.
        places: Further folders that may have images, in addition to those named after a split; with
            "{split}" only of the file's split.
        depth: Folders above a file, at most.
        name: What all such files are called; "" where they have names of their own.
        list_name: Of a JSON file, what the list of its items is called; "" of one that is a list.
        noun: An item, for messages.
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

    def may_be_one(self, path: str) -> bool:
        """Whether a file is called as these are."""
        is_called = self.name in ("", path.rpartition("/")[2])
        return suffix(path) == self.suffix and is_called and path.count("/") <= self.depth


@dataclasses.dataclass
class ReadItems(beam.PTransform):
    """The images that files name, with what they say of each.

    Yields a Record for every item; DeclaredClasses; a bad Rejected for every item, or file, that
    cannot be used.

    Attributes:
        files: The files.
        formats: What they may be, each with a suffix of its own.
    """

    files: Sequence[AnnotationFile]
    formats: tuple[ItemFiles, ...]

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            pipeline
            | "Files" >> Share(self.files)  # AnnotationFile
            | "ReadItems" >> beam.FlatMap(read_items, self.formats)  # Element
        )


def read_items(file: AnnotationFile, formats: Sequence[ItemFiles]) -> Iterator[Element]:
    """The elements of one file."""
    ending = suffix(uncompressed(unsigned(file.path)))
    format = next((each for each in formats if each.suffix == ending), formats[0])
    images, seen = Images(file), set[int]()
    try:
        for each in format.stated(file):
            if isinstance(each, DeclaredClasses):
                yield each
                continue
            source = f"{file.relative}: {each[0]}"
            try:
                item = format.item(each[1])
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
                notes=item.notes,
            )
    except RecordError as error:
        yield Rejected.of(file.relative, error)
    yield Consumed(paths=(file.path,))


def annotation_files(
    tree: Tree, formats: Sequence[ItemFiles], *, is_named: bool = False
) -> list[str]:
    """The files of some formats at the top of a tree, sorted.

    Args:
        tree: The tree.
        formats: The formats.
        is_named: Whether a user names the layout: then a file's name is enough.
    """
    endings = sorted({each.suffix for each in formats})
    likely = [
        (path, each)
        for path in sorted({path for ending in endings for path in tree.files_with(ending)})
        for each in formats
        if each.may_be_one(path)
    ]
    files: list[str] = []
    for number, (path, each) in enumerate(likely):
        if not files and number == _FILES_LOOKED_INTO:
            break
        if each.sign.search(tree.head(path)):
            files.append(path)
    return files or [path for path, _ in likely if is_named]


def layout_of(name: str, sign: str, *formats: ItemFiles) -> Layout:
    """The layout of files of such formats."""

    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        is_named = config.layout == name
        if tree.is_folder:
            reads = annotation_files(tree, formats, is_named=is_named)
        else:
            path = uncompressed(unsigned(tree.input)) if tree.is_file else ""
            fits = [each for each in formats if suffix(path) == each.suffix]
            is_one = any(fit.sign.search(head(tree.input)) for fit in fits)
            reads = [*tree.files()] if is_one or (fits and is_named) else []
        if not reads:
            return None
        return Claim(
            layout=name,
            rank=Rank.ANNOTATIONS,
            path=tree.input,
            reads=tuple(reads),
            understood=(("files", shown(reads, "file")),),
        )

    def read(claim: Claim, config: BuildConfig, scratch: str) -> ReadItems:
        configured = tuple(dataclasses.replace(each, points=config.points) for each in formats)
        return ReadItems(_files(claim, config, formats[0]), configured)

    gives_points = any(each.gives_points for each in formats)
    return Layout(
        name=name,
        sign=sign,
        claim=claim,
        read=read,
        takes=("image_root", *(("points",) if gives_points else ())),
    )


def _files(claim: Claim, config: BuildConfig, format: ItemFiles) -> list[AnnotationFile]:
    root, reads, ignored = claim.path, claim.reads, Ignored.of(config, claim.path)
    if len(reads) == 1 and root.endswith(reads[0]):  # the file itself
        root, relative = below_base(root)
        reads = (relative,)
    return [
        annotation_file(
            root,
            each,
            image_root=config.image_root,
            places=format.places,
            allowed=config.allow_outside,
            ignored=ignored,
        )
        for each in reads
    ]
