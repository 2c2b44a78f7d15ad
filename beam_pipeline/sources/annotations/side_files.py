"""Annotation files paired with images by name: find, pair and read them.

Each file is listed once; files with the same name are paired in one bucket.
"""

import abc
import dataclasses
import functools
import glob
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import files_to_ignore
from beam_pipeline.records import Consumed, DeclaredClasses, Element, FileRef, Record, Rejected
from beam_pipeline.running.buckets import Buckets, gather
from beam_pipeline.running.gathering import least_buckets
from beam_pipeline.running.pickling import fast_pickle, pack, unpack
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.json_items import JsonSign
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.listing import ListNames, buckets_of_names
from beam_pipeline.sources.paths import (
    below,
    folder,
    input_folder,
    joined,
    media_kind,
    name_of,
    place_of,
    shared_name,
    split_at,
    stem,
    suffix,
)
from beam_pipeline.sources.splits import lists_of_splits
from beam_pipeline.sources.tables.convert import OF_FILE
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tree import NOTHING, Ignored, Tree
from tfrecord_dataset.format.split_names import split_of_folders
from tfrecord_dataset.store.listing import paths_in
from tfrecord_dataset.store.threads import run_in_threads

# Size limit of an annotation. In memory, XML takes up to thirty times its text.
MAX_BYTES = 16 << 20

_READ_THREADS = 16
# Hundreds of paths per element, since a shuffle costs per element (docs/design.md).
_PATHS_PER_BATCH = 256
_MANY_FILES = 10_000_000
_Bucket = tuple[int, Iterable[bytes]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """Facts about all files of a tree, from its folders.

    Attributes:
        is_at_home: Whether only files below `home` are annotations.
        folders: Image folders with annotations.
        in_splits: Whether every annotation (or image, if images need none) is in a split's
            folder.
        has_lists: Whether lists define the splits.
        number: Estimated number of files.
    """

    is_at_home: bool = False
    folders: frozenset[str] = frozenset()
    in_splits: bool = False
    has_lists: bool = False
    number: int = _MANY_FILES


@fast_pickle
class Pair(NamedTuple):
    """An image and its annotation; "" for none."""

    image: str
    annotation: str


Part = tuple[str, str, str]
"""An image and its annotation, of which one may be ""; and what the latter calls its image."""


@dataclasses.dataclass(frozen=True)
class SideFiles(abc.ABC):
    """Annotation files that are paired with images by name.

    A subclass defines a suffix, a noun and `parse`, and may override the rest. Paths are relative
    to the root, with forward slashes; suffixes and folders are in lower case.

    Attributes:
        suffix: Suffix of annotations.
        noun: Noun for an annotation in messages: "XML file".
        media: Kind of the annotated files, "image" or "audio"; below, "image" means either.
        home: Folder of annotations.
        image_home: Folder of images, parallel to `home`; "" for none.
        naming: Part of an annotation that names its image in any folder; "" for none.
        max_bytes: Size limit of an annotation; 0 if `parse` needs only its path.
        is_shared: Whether an annotation applies to all images with its name.
        is_needed: Whether images without annotation are rejected.
        set_folders: Folders in ImageSets/ with lists of splits, likeliest first.
        unlabelled: Folder of unannotated images that test lists name.
    """

    suffix: ClassVar[str]
    noun: ClassVar[str]
    media: ClassVar[str] = "image"
    home: ClassVar[str] = ""
    image_home: ClassVar[str] = ""
    naming: ClassVar[str] = ""
    max_bytes: ClassVar[int] = MAX_BYTES
    is_shared: ClassVar[bool] = False
    is_needed: ClassVar[bool] = True
    set_folders: ClassVar[tuple[str, ...]] = ()
    unlabelled: ClassVar[str] = ""

    @abc.abstractmethod
    def parse(self, data: bytes, annotation: str) -> Parsed:
        """The features of an image except the image itself, and notes of what is not kept.

        Raises RecordError if the annotation is invalid.
        """

    def declared(self) -> Iterator[DeclaredClasses]:
        """Yield the classes declared for all files."""
        yield from ()

    def annotates(self, path: str) -> bool:
        """Whether a file may be an annotation, judged by its name."""
        return suffix(path) == self.suffix

    def is_media(self, path: str) -> bool:
        """Whether a file may have an annotation, judged by its name."""
        is_one = media_kind(path) == self.media
        return is_one and (not self.image_home or split_at(path, self.image_home) is not None)

    def is_expected(self, image: str, known: TreeFacts) -> bool:
        """Whether an image without annotation should have one or is part of the dataset."""
        return folder(image) in known.folders

    def common_name(self, path: str) -> str:
        """Return the name that an image and its annotation share, the key for pairing."""
        return shared_name(path)

    def image_key(self, image: str) -> str:
        """Key by which annotations find an image."""
        return place_of(image, self.image_home)

    def image_keys(self, annotation: str, name: str) -> Iterable[str]:
        """Possible keys of an annotation's image, by its own or stated name; likeliest first."""
        return [place_of(annotation, self.home)]

    def owners(self, annotations: Sequence[str]) -> Sequence[str]:
        """Annotations of an image to use among several, sorted; two or more are an error."""
        return annotations

    def named_image(self, data: bytes) -> str:
        """Name of the image stated in an annotation, "" for none; raise RecordError if invalid."""
        return ""

    def split_of_folder(self, path: str) -> str | None:
        """The split whose folder contains a file; None for none."""
        return split_of_folders(path)

    def split(self, pair: Pair, known: TreeFacts) -> str | Rejected | None:
        """The split of an image; None if no folder defines it."""
        path = pair.annotation or pair.image
        return self.split_of_folder(path) if known.in_splits else None


def parts_of(paths: Iterable[str], files: SideFiles, *, is_at_home: bool) -> Iterator[Part]:
    """Yield the images and annotations among files, unpaired."""
    for path in paths:
        if files.annotates(path) and (not is_at_home or split_at(path, files.home)):
            yield "", path, ""
        elif files.is_media(path):
            yield path, "", ""


def pair(parts: Iterable[Part], files: SideFiles) -> Iterator[Part]:
    """Pair images and annotations; yield the rest unpaired."""
    parts = sorted(parts)
    images = [image for image, annotation, _ in parts if not annotation]
    by_key = _grouped(images, files.image_key)
    every = (image for image, _, _ in parts if image and files.naming)
    by_name = _grouped(every, shared_name)
    index_of = functools.cache(lambda name: FileIndex(by_name.get(name, ())))
    paired = set[str]()
    for image, annotation, named in parts:
        if image and annotation:
            yield image, annotation, ""
        elif annotation:
            found = _find_images(annotation, named, files, by_key, index_of)
            yield from [(each, annotation, "") for each in found] or [("", annotation, named)]
            paired.update(found)
    yield from ((image, "", "") for image in images if image not in paired)


def _grouped(paths: Iterable[str], key: Callable[[str], str]) -> Mapping[str, list[str]]:
    groups = defaultdict[str, list[str]](list)
    for path in paths:
        groups[key(path)].append(path)
    return groups


def _find_images(
    annotation: str,
    named: str,
    files: SideFiles,
    by_key: Mapping[str, list[str]],
    index_of: Callable[[str], FileIndex],
) -> list[str]:
    """Images of an annotation: at one of its usual paths, else the only one of its name."""
    name = named or annotation.rpartition("/")[2]
    images = next(filter(None, map(by_key.get, files.image_keys(annotation, name))), [])
    if len(images) > 1 and not files.is_shared:
        return ([each for each in images if name_of(each) == name_of(name)] or images)[:1]
    if named and not images:
        only = index_of(shared_name(name)).find(joined(folder(annotation), name)) or ""
        return [only] if only in by_key.get(files.image_key(only), ()) else []
    return images


@dataclasses.dataclass
class ReadSideFiles(beam.PTransform):
    """A Record {image, …} for each image with its annotation.

    Yields a bad Rejected for an annotation without image ("missing image"), for an image without
    annotation in a folder of annotated images ("no annotation"), and for several annotations of
    one image ("two annotations").

    Attributes:
        root: The absolute folder, local or remote, that keys are relative to.
        folders: Folders below `root` to list.
        names: Output of `listing`, if the pipeline has it already.
    """

    root: str
    files: SideFiles
    known: TreeFacts
    ignored: Ignored = NOTHING
    folders: Sequence[str] = ("",)
    names: "beam.PCollection[bytes] | None" = None
    yields_buckets: ClassVar[bool] = True

    @classmethod
    def of(cls, path: str, files: SideFiles, ignored: Ignored = NOTHING) -> "ReadSideFiles":
        """Make the source for the folder at a path; raise ConfigError if it does not exist."""
        root = input_folder(path)
        return cls(root, files, tree_facts(Tree(root, ignored), files)[0], ignored)

    @property
    def listing(self) -> ListNames:
        """The transform that lists the files to pair."""
        return ListNames(self.root, self.folders, self.ignored)

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        files, known = self.files, self.known
        buckets = buckets_of_names(known.number, least_buckets(pipeline))
        grouped = (
            (self.names or pipeline | self.listing)  # bytes
            | "SendFiles" >> beam.FlatMap(send_files, files, known, buckets)  # (bucket, bytes)
            | "GroupNames" >> beam.GroupByKey()
        )
        if files.naming:
            grouped = (
                grouped
                | "FindNames" >> beam.FlatMap(send_by_image, files, self.root, buckets)
                | "GroupImages" >> beam.GroupByKey()  # (bucket, bytes)
            )
        read = (
            grouped
            | "PairFiles" >> beam.FlatMap(pair_bucket, files, known)  # bytes
            | "ReadAnnotations" >> beam.FlatMap(read_pairs, files, known, self.root)  # Element
        )
        if not (declared := [*files.declared()]):
            return read
        return (read, pipeline | "Classes" >> beam.Create(declared)) | beam.Flatten()


def send_files(
    batch: bytes, files: SideFiles, known: TreeFacts, buckets: Buckets
) -> Iterator[tuple[int, bytes]]:
    """Send the images and annotations of a batch of names to the buckets of their names."""
    parts = parts_of(paths_in(unpack(batch)), files, is_at_home=known.is_at_home)
    return buckets.send((files.common_name(part[0] or part[1]), part) for part in parts)


def send_by_image(
    bucket: _Bucket, files: SideFiles, root: str, buckets: Buckets
) -> Iterator[tuple[int, bytes]]:
    """Yield the pairs of a bucket; send unpaired files to the buckets of image names."""
    parts = [*pair(gather(bucket[1]), files)]

    def find_name(annotation: str) -> tuple[str, Part | Rejected]:
        try:
            file = FileRef(path=below(root, annotation))
            named = files.named_image(storage.read_bytes(file, files.max_bytes))
        except RecordError as error:
            return "", Rejected.of(annotation, error)
        return shared_name(named), ("", annotation, named)

    unpaired = [annotation for image, annotation, _ in parts if not image]
    sent = [(shared_name(part[0]), part) for part in parts if part[0]]
    return buckets.send([*sent, *run_in_threads(find_name, unpaired, _READ_THREADS)])


def pair_bucket(bucket: _Bucket, files: SideFiles, known: TreeFacts) -> Iterator[bytes]:
    """Yield the pairs and rejects of a bucket in packed batches."""
    values = [*gather(bucket[1])]
    rejected = [value for value in values if isinstance(value, Rejected)]
    parts = (value for value in values if isinstance(value, tuple))
    found = [*rejected, *judged(pair(parts, files), files, known)]
    starts = range(0, len(found), _PATHS_PER_BATCH)
    return (pack(found[start : start + _PATHS_PER_BATCH]) for start in starts)


def judged(parts: Iterable[Part], files: SideFiles, known: TreeFacts) -> Iterator[Pair | Rejected]:
    """Yield pairs of an image and its one annotation, and rejects for other files."""
    named = f", and none, or several, have the one in its {files.naming}" if files.naming else ""
    missing = f"no {files.media} has the {files.noun}'s name{named}"
    contested: dict[str, Rejected] = {}
    by_image: dict[str, list[str]] = {}
    for image, annotation, _ in parts:
        if image:
            by_image.setdefault(image, []).append(annotation)
        else:
            yield Rejected(source=annotation, reason=f"missing {files.media}", detail=missing)
    for image, annotations in by_image.items():
        owners = files.owners(annotations) if len(annotations) > 1 else annotations
        if len(owners) > 1:
            leave_out = files_to_ignore(map(glob.escape, owners[1:]))
            detail = f"{len(owners)} files describe {image}; merge them, or pass {leave_out.typed}"
            for each in owners:
                contested[each] = Rejected(source=each, reason="two annotations", detail=detail)
        elif owners[0] or (not files.is_needed and files.is_expected(image, known)):
            yield Pair(image, owners[0])
        elif files.is_expected(image, known):
            detail = f"no {files.noun} describes the {files.media}"
            is_bad = not known.has_lists
            yield Rejected(source=image, reason="no annotation", detail=detail, bad=is_bad)
    yield from contested.values()


def read_pairs(batch: bytes, files: SideFiles, known: TreeFacts, root: str) -> Iterator[Element]:
    """Read pairs into records; pass rejects through."""
    read: list[str] = []
    for each in unpack(batch):
        if isinstance(each, Rejected):
            yield each
            continue
        split = files.split(each, known)
        element = split if isinstance(split, Rejected) else read_pair(each, split, files, root)
        yield element
        paths = each if isinstance(element, Rejected) else (each.annotation,)
        read += (below(root, path) for path in paths if path)
    yield Consumed(paths=tuple(read))


def read_pair(pair: Pair, split: str | None, files: SideFiles, root: str) -> Record | Rejected:
    """Make the record of an image with its annotation."""
    image, annotation = pair
    try:
        data = b""
        if annotation and files.max_bytes:
            data = storage.read_bytes(FileRef(path=below(root, annotation)), files.max_bytes)
        features, notes = files.parse(data, annotation)
    except RecordError as error:
        return Rejected.of(annotation, error)
    media = OF_FILE[files.media](file=FileRef(path=below(root, image)))
    return Record(
        key=image,
        features={files.media: media, **features},
        split=split,
        source=annotation,
        notes=notes,
    )


def tree_facts(tree: Tree, files: SideFiles) -> tuple[TreeFacts, Sequence[str]]:
    """Return the facts of a tree and its annotations."""
    paths = tree.files()
    annotations = sorted(filter(files.annotates, paths))
    proper = [path for path in annotations if split_at(path, files.home)]
    annotations = proper or ([] if files.image_home else annotations)
    parts = pair(parts_of(paths, files, is_at_home=bool(proper)), files)
    pairs = [part for part in parts if part[0]]
    known = TreeFacts(
        is_at_home=bool(proper) or bool(files.image_home),
        folders=frozenset(folder(image) for image, annotation, _ in pairs if annotation),
        has_lists=bool(split_lists_of(tree, files)),
        number=len(paths) if tree.is_known else _MANY_FILES,
    )
    expected = annotations
    if not files.is_needed:
        expected = [
            image for image, annotation, _ in pairs if annotation or files.is_expected(image, known)
        ]
    in_splits = bool(expected) and all(map(files.split_of_folder, expected))
    return dataclasses.replace(known, in_splits=in_splits), annotations


def split_lists_of(tree: Tree, files: SideFiles) -> tuple[str, ...]:
    """Split lists in a tree's ImageSets/, in the syntax of `--split-list`."""
    by_home: dict[str, dict[str, list[str]]] = {}
    for path in tree.files_with("txt"):
        if around := split_at(path, "imagesets"):
            home, task = around
            by_home.setdefault(home, {}).setdefault(task.lower(), []).append(path)
    lists = []
    folders = {name_of(each).lower() for each in tree.walked}
    is_unlabelled = bool(files.unlabelled) and files.unlabelled in folders
    for tasks in by_home.values():
        of_task = next(filter(None, map(tasks.get, files.set_folders)), [])
        paths = {stem(path): path for path in of_task}
        lists += [
            f"{split}={tree.path(paths[split])}"
            for split in lists_of_splits(paths)
            if not (is_unlabelled and split.lower().startswith("test"))
        ]
    return tuple(lists)


def side_file_layout(
    name: str,
    sign: str,
    files: SideFiles,
    begins: re.Pattern[bytes] | JsonSign | None = None,
    takes: Sequence[str] = (),
) -> Layout:
    """Make the layout of annotations that are paired with images.

    `begins` matches their first bytes; options set the fields of `files` that `takes` names.
    """

    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        if not tree.is_folder or not tree.files_with(files.suffix):
            return None
        _, annotations = tree_facts(tree, files)
        counts = tree.counted(annotations, None if config.layout == name else begins)
        if not counts:
            return None
        lists = split_lists_of(tree, files)
        splits = ", ".join(each.partition("=")[0] for each in lists)
        what = tree.describe_counts(counts, files.noun)
        return Claim(
            layout=name,
            rank=Rank.ANNOTATIONS,
            path=tree.input,
            understood=(("files", what + (f", image sets {splits}" if splits else "")),),
            options={"split_list": lists} if lists else {},
            side_suffixes=frozenset({files.suffix}),
        )

    def read(claim: Claim, config: BuildConfig, scratch: str) -> ReadSideFiles:
        configured = dataclasses.replace(files, **{name: getattr(config, name) for name in takes})
        return ReadSideFiles.of(claim.path, configured, Ignored.of(config, claim.path))

    return Layout(name=name, sign=sign, claim=claim, read=read, takes=tuple(takes))
