"""Files that belong to an image by their names: which they are, how they are paired, and read.

Each file is listed once; files of one name meet in a bucket, are paired and read.
"""

import abc
import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, DeclaredClasses, Element, FileRef, Record, Rejected
from beam_pipeline.running.buckets import Buckets, gather
from beam_pipeline.running.gathering import least_buckets
from beam_pipeline.running.pickling import fast_pickle, pack, unpack
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.listing import ListNames, buckets_of_names, paths_in
from beam_pipeline.sources.paths import (
    below,
    folder,
    in_batches,
    input_folder,
    joined,
    media_kind,
    place_of,
    shared_name,
    split_at,
    stem,
    suffix,
)
from beam_pipeline.sources.splits import lists_of_splits
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tables.fitting import OF_FILE
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.split_names import split_of_folders
from tfrecord_dataset.store.threads import run_in_threads

# Of an annotation. In memory XML takes up to thirty times its text.
MAX_BYTES = 16 << 20

_READ_THREADS = 16
_NOWHERE: Mapping[str, Sequence[str]] = MappingProxyType({})
_MANY_FILES = 10_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """What the folders of a tree tell of all its files.

    Attributes:
        is_at_home: Whether annotations are only below their `home`.
        folders: The folders of images that have annotations.
        in_splits: Whether every annotation is in the folder of a split; or every image, where
            these need none.
        has_lists: Whether lists tell the splits.
        number: How many files there are, about.
    """

    is_at_home: bool = False
    folders: frozenset[str] = frozenset()
    in_splits: bool = False
    has_lists: bool = False
    number: int = _MANY_FILES


@fast_pickle
class Pair(NamedTuple):
    """An image and its annotation, of which one may be ""; and what the latter calls its image."""

    image: str
    annotation: str
    named: str = ""


@dataclasses.dataclass(frozen=True)
class SideFiles(abc.ABC):
    """Files that belong to an image by their names, and what they say.

    A subclass states a suffix, a noun and `parse`, and refines the rest. Paths are relative to the
    root, with forward slashes.

    Attributes:
        suffix: Of an annotation, in lower case.
        noun: An annotation, for messages: "XML file".
        media: What annotations belong to: "image" or "audio", of which the same holds.
        home: The folder of annotations, in lower case.
        image_home: The folder of images, in lower case, in the place of `home`; "" for none.
        naming: The part of an annotation that names its image, perhaps otherwise; "" for none.
        is_anywhere: Whether the named image may be in any folder, if only one has its name.
        max_bytes: Of an annotation; 0 where `parse` needs nothing but its path.
        is_shared: Whether one annotation is of all images that have its name.
        is_needed: Whether an image without annotation is rejected.
        set_folders: The folders of an ImageSets/ with lists of splits, likeliest first, in lower
            case; none where such lists mean nothing.
        unlabelled: A folder of images without annotations, which lists of test then name.
    """

    suffix: ClassVar[str]
    noun: ClassVar[str]
    media: ClassVar[str] = "image"
    home: ClassVar[str] = ""
    image_home: ClassVar[str] = ""
    naming: ClassVar[str] = ""
    is_anywhere: ClassVar[bool] = False
    max_bytes: ClassVar[int] = MAX_BYTES
    is_shared: ClassVar[bool] = False
    is_needed: ClassVar[bool] = True
    set_folders: ClassVar[tuple[str, ...]] = ()
    unlabelled: ClassVar[str] = ""

    @abc.abstractmethod
    def parse(self, data: bytes, annotation: str) -> Parsed:
        """The features of an image except the image itself, and notes of what is not kept.

        Raises:
            RecordError: The annotation, of this path, cannot be used.
        """

    def declared(self) -> Iterator[DeclaredClasses]:
        """The classes that are declared for all files."""
        yield from ()

    def annotates(self, path: str) -> bool:
        """Whether a file may be an annotation, by its name."""
        return suffix(path) == self.suffix

    def is_media(self, path: str) -> bool:
        """Whether a file may have an annotation, by its name."""
        is_one = media_kind(path) == self.media
        return is_one and (not self.image_home or split_at(path, self.image_home) is not None)

    def is_expected(self, image: str, known: TreeFacts) -> bool:
        """Whether an image without annotation should have one, or is one of the dataset's."""
        return folder(image) in known.folders

    def common_name(self, path: str) -> str:
        """Return the name that an image and its annotation have in common, by which they meet."""
        return shared_name(path)

    def image_key(self, image: str) -> str:
        """What annotations find an image by."""
        return place_of(image, self.image_home)

    def image_keys(self, annotation: str, name: str) -> Iterable[str]:
        """Where the image of an annotation may be, likeliest first: the keys of images.

        Args:
            annotation: Its path.
            name: Its own, without folders; or what it calls its image.
        """
        return [place_of(annotation, self.home)]

    def owners(self, annotations: Sequence[str]) -> Sequence[str]:
        """Which of the annotations of an image's name, sorted, are used: one, if all is well."""
        return annotations

    def named_image(self, data: bytes) -> str:
        """What an annotation calls its image; "" where it does not.

        Raises:
            RecordError: The annotation cannot be used.
        """
        return ""

    def split_of_folder(self, path: str) -> str | None:
        """The split whose folder a file is in."""
        return split_of_folders(path)

    def split(self, pair: Pair, known: TreeFacts) -> str | Rejected | None:
        """The split of an image; None where no folder tells it."""
        path = pair.annotation or pair.image
        return self.split_of_folder(path) if known.in_splits else None


class Paired(NamedTuple):
    """What files of some names are: pairs, rejects, and what has no partner."""

    pairs: list[Pair]
    rejected: list[Rejected]
    images: list[str]
    annotations: list[str]


def pair(paths: Iterable[str], files: SideFiles, *, is_at_home: bool) -> Paired:
    """Pair images and annotations of the same names."""
    images, annotations = [], []
    for path in sorted(paths):
        if files.annotates(path) and (not is_at_home or split_at(path, files.home)):
            annotations.append(path)
        elif files.is_media(path):
            images.append(path)
    return _paired(images, {path: path.rpartition("/")[2] for path in annotations}, files)


def _paired(
    images: Sequence[str],
    names: Mapping[str, str],
    files: SideFiles,
    anywhere: Mapping[str, Sequence[str]] = _NOWHERE,
) -> Paired:
    """Pair images and annotations by what these call their images.

    Args:
        images: The images to pair.
        names: What each annotation calls its image.
        files: Which files belong together.
        anywhere: All images by name, for annotations whose image is in none of its usual places.
    """
    by_key = defaultdict(list)
    for image in images:
        by_key[files.image_key(image)].append(image)
    claims: dict[str, list[str]] = defaultdict(list)
    alone = []
    for annotation, name in names.items():
        found = next(filter(None, map(by_key.get, files.image_keys(annotation, name))), [])
        if not found and anywhere:
            index = FileIndex(anywhere.get(shared_name(name), ()))
            only = index.find(joined(folder(annotation), name)) or ""
            found = [only] if only in by_key.get(files.image_key(only), ()) else []
        if len(found) > 1 and not files.is_shared:
            file_name = name.rpartition("/")[2]
            found = ([each for each in found if each.rpartition("/")[2] == file_name] or found)[:1]
        for image in found:
            claims[image].append(annotation)
        if not found:
            alone.append(annotation)
    pairs, rejected = [], dict[str, Rejected]()
    for image, claimed in claims.items():
        owners = files.owners(claimed)
        if len(owners) == 1:
            pairs.append(Pair(image, owners[0]))
            continue
        detail = f"{len(owners)} files describe {image}; merge them, or --ignore all but one"
        rejected |= {
            owner: Rejected(source=owner, reason="two annotations", detail=detail)
            for owner in owners
        }
    return Paired(
        pairs, [*rejected.values()], [each for each in images if each not in claims], alone
    )


@dataclasses.dataclass
class ReadSideFiles(beam.PTransform):
    """A Record {image, …} for each image with its annotation.

    Rejected, bad, are an annotation without image ("missing image"), an image without annotation
    in a folder of images that have some ("no annotation"), and several annotations of one image
    ("two annotations").

    Attributes:
        root: The absolute folder, local or remote, that keys are relative to.
        files: Which files belong together, and what they say.
        known: What the folders tell.
        ignored: What is left out.
        folders: The folders that are listed, below `root`.
        names: What `listing` yields, where the pipeline has it already.
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
        """What reads the folder at a path.

        Raises:
            ConfigError: There is no such folder.
        """
        root = input_folder(path)
        return cls(root, files, tree_facts(Tree(root, ignored), files)[0], ignored)

    @property
    def listing(self) -> ListNames:
        """The files that are paired."""
        return ListNames(self.root, self.folders, self.ignored)

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        files, known = self.files, self.known
        buckets = buckets_of_names(known.number, least_buckets(pipeline))
        grouped = (
            (self.names or pipeline | self.listing)  # bytes
            | "SendFiles" >> beam.FlatMap(send_files, files, buckets)  # (bucket, bytes)
            | "GroupNames" >> beam.GroupByKey()
        )
        if files.naming:
            pairs = (
                grouped
                | "FindNames" >> beam.FlatMap(send_by_image, files, known, self.root, buckets)
                | "GroupImages" >> beam.GroupByKey()  # (bucket, bytes)
                | "PairImages" >> beam.FlatMap(pair_by_image, files, known)
            )  # bytes
        else:
            pairs = grouped | "PairFiles" >> beam.FlatMap(pair_by_name, files, known)  # bytes
        read = (
            pairs  # bytes
            | "ReadAnnotations" >> beam.FlatMap(read_pairs, files, known, self.root)  # Element
        )
        if not (declared := [*files.declared()]):
            return read
        return (read, pipeline | "Classes" >> beam.Create(declared)) | beam.Flatten()


_Bucket = tuple[int, Iterable[bytes]]


def send_files(batch: bytes, files: SideFiles, buckets: Buckets) -> Iterator[tuple[int, bytes]]:
    """The files of a batch of names, to the buckets of their names."""
    paths = paths_in(unpack(batch))
    used = (path for path in paths if files.annotates(path) or files.is_media(path))
    return buckets.send((files.common_name(path), path) for path in used)


def send_by_image(
    bucket: _Bucket, files: SideFiles, known: TreeFacts, root: str, buckets: Buckets
) -> Iterator[tuple[int, bytes]]:
    """The pairs of one bucket, and what has no partner to the buckets of images' names."""
    paired = pair(gather(bucket[1]), files, is_at_home=known.is_at_home)

    def name_of(path: str) -> Pair | Rejected:
        try:
            return Pair("", path, files.named_image(_read(root, path, files)))
        except RecordError as error:
            return Rejected.of(path, error)

    alone = run_in_threads(name_of, paired.annotations, _READ_THREADS)
    images = [Pair(image, "") for image in paired.images]
    for each in (*paired.pairs, *paired.rejected, *images, *alone):
        name = shared_name(each.image or each.named) if isinstance(each, Pair) else ""
        yield from buckets.divide([(name, each)])


def pair_by_image(bucket: _Bucket, files: SideFiles, known: TreeFacts) -> Iterator[bytes]:
    """What the files of one bucket are, once annotations have named their images."""
    values = [*gather(bucket[1])]
    pairs = [value for value in values if isinstance(value, Pair)]
    images = sorted(each.image for each in pairs if not each.annotation)
    names = {each.annotation: each.named for each in sorted(pairs) if not each.image and each.named}
    anywhere: dict[str, list[str]] = {}
    for each in pairs if files.is_anywhere else ():
        if each.image:
            anywhere.setdefault(shared_name(each.image), []).append(each.image)
    paired = _paired(images, names, files, anywhere)
    alone = [each.annotation for each in pairs if not each.image and not each.named]
    whole = [each for each in pairs if each.image and each.annotation]
    rejected = [value for value in values if isinstance(value, Rejected)]
    return _judged(
        Paired(
            [*whole, *paired.pairs],
            [*rejected, *paired.rejected],
            paired.images,
            [*alone, *paired.annotations],
        ),
        files,
        known,
    )


def pair_by_name(bucket: _Bucket, files: SideFiles, known: TreeFacts) -> Iterator[bytes]:
    """What the files of one bucket are, if no annotation names an image of another."""
    paired = pair(gather(bucket[1]), files, is_at_home=known.is_at_home)
    return _judged(paired, files, known)


def _judged(paired: Paired, files: SideFiles, known: TreeFacts) -> Iterator[bytes]:
    """Pairs and rejects, in packed batches."""
    missing = f"no {files.media} has the {files.noun}'s name"
    if files.is_anywhere:
        missing = (
            f"no {files.media} next to the {files.noun} has its name, and none or several have "
            f"the one in its {files.naming}"
        )
    elif files.naming:
        missing += f", nor the one in its {files.naming}"
    expected = [image for image in paired.images if files.is_expected(image, known)]
    without = [] if files.is_needed else [Pair(image, "") for image in expected]
    rejected = [
        Rejected(
            source=path,
            reason=f"missing {files.media}",
            detail=missing,
        )
        for path in paired.annotations
    ] + [
        Rejected(
            source=image,
            reason="no annotation",
            detail=f"no {files.noun} describes the {files.media}",
            bad=not known.has_lists,
        )
        for image in expected
        if files.is_needed
    ]
    return map(pack, in_batches([*paired.pairs, *without, *paired.rejected, *rejected]))


def read_pairs(batch: bytes, files: SideFiles, known: TreeFacts, root: str) -> Iterator[Element]:
    """The records of pairs; rejects pass."""
    read: list[str] = []
    for each in unpack(batch):
        if isinstance(each, Rejected):
            yield each
            continue
        split = files.split(each, known)
        element = split if isinstance(split, Rejected) else read_pair(each, split, files, root)
        yield element
        paths = each[:2] if isinstance(element, Rejected) else (each.annotation,)
        read += (below(root, path) for path in paths if path)
    yield Consumed(paths=tuple(read))


def read_pair(pair: Pair, split: str | None, files: SideFiles, root: str) -> Record | Rejected:
    """The record of one image with its annotation."""
    image, annotation, _ = pair
    try:
        data = _read(root, annotation, files) if annotation and files.max_bytes else b""
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


def _read(root: str, path: str, files: SideFiles) -> bytes:
    return storage.read_bytes(FileRef(path=below(root, path)), files.max_bytes)


def tree_facts(tree: Tree, files: SideFiles) -> tuple[TreeFacts, Sequence[str]]:
    """What the folders of a tree tell, and the annotations there."""
    paths = tree.files()
    annotations = sorted(filter(files.annotates, paths))
    proper = [path for path in annotations if split_at(path, files.home)]
    annotations = proper or ([] if files.image_home else annotations)
    paired = pair(paths, files, is_at_home=bool(proper))
    known = TreeFacts(
        is_at_home=bool(proper) or bool(files.image_home),
        folders=frozenset(folder(each.image) for each in paired.pairs),
        has_lists=bool(split_lists_of(tree, files)),
        number=len(paths) if tree.is_known else _MANY_FILES,
    )
    expected = annotations
    if not files.is_needed:
        others = (image for image in paired.images if files.is_expected(image, known))
        expected = [*(each.image for each in paired.pairs), *others]
    in_splits = bool(expected) and all(map(files.split_of_folder, expected))
    return dataclasses.replace(known, in_splits=in_splits), annotations


def split_lists_of(tree: Tree, files: SideFiles) -> tuple[str, ...]:
    """The lists of splits in a tree's ImageSets/, as `--split-list` has them."""
    by_home: dict[str, dict[str, list[str]]] = {}
    for path in tree.files_with("txt"):
        if around := split_at(path, "imagesets"):
            home, task = around
            by_home.setdefault(home, {}).setdefault(task.lower(), []).append(path)
    lists = []
    folders = {each.rpartition("/")[2].lower() for each in tree.walked}
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
    begins: re.Pattern[bytes] | None = None,
    takes: Sequence[str] = (),
) -> Layout:
    """The layout of annotations next to images.

    Args:
        name: What `--layout` calls it.
        sign: What tells it, as an error says it.
        files: What belongs to an image, and how it is read.
        begins: What the first bytes of an annotation must have.
        takes: Fields of `files` that options of the same name set.
    """

    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        return side_file_claim(name, tree, config, files, begins)

    def read(claim: Claim, config: BuildConfig, scratch: str) -> ReadSideFiles:
        configured = dataclasses.replace(files, **{name: getattr(config, name) for name in takes})
        return ReadSideFiles.of(claim.path, configured, Ignored.of(config, claim.path))

    return Layout(name=name, sign=sign, claim=claim, read=read, takes=tuple(takes))


def side_file_claim(
    name: str,
    tree: Tree,
    config: BuildConfig,
    files: SideFiles,
    begins: re.Pattern[bytes] | None = None,
) -> Claim | None:
    """The claim of a tree with annotations next to images; as `side_file_layout`."""
    if not tree.is_folder or not tree.files_with(files.suffix):
        return None
    _, annotations = tree_facts(tree, files)
    counts = tree.counted(annotations, None if config.layout == name else begins)
    if not counts:
        return None
    lists = split_lists_of(tree, files)
    splits = ", ".join(each.partition("=")[0] for each in lists)
    what = tree.describe_counts(counts, files.noun) + (f", image sets {splits}" if splits else "")
    return Claim(
        layout=name,
        rank=Rank.ANNOTATIONS,
        path=tree.input,
        understood=(("files", what),),
        options={"split_list": lists} if lists else {},
    )
