"""Annotation files paired with images by name: list, pair and read them.

A layout is a value, `Pairing`; the same functions pair the files of a sampled tree and of a bucket.
Each file is listed once; files with the same name are paired in one bucket.
"""

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
from beam_pipeline.records import (
    Consumed,
    DeclaredClasses,
    Element,
    FileRef,
    Record,
    Rejected,
    composed,
)
from beam_pipeline.running.buckets import Buckets, gather
from beam_pipeline.running.gathering import least_buckets
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.file_index import FileIndex
from beam_pipeline.sources.json_items import JsonSign
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.listing import ListNames, buckets_of_names
from beam_pipeline.sources.paths import (
    below,
    folder,
    joined,
    media_kind,
    name_of,
    parallel_folders,
    place_of,
    shared_name,
    split_at,
    stem,
    upload_notes,
    without_upload_prefix,
)
from beam_pipeline.sources.splits import lists_of_splits
from beam_pipeline.sources.tables.fit import OF_FILE
from beam_pipeline.sources.tree import NOTHING, Ignored, Tree
from tfrecord_dataset.format.split_names import split_in_name, split_of_folders
from tfrecord_dataset.store.listing import paths_in
from tfrecord_dataset.store.threads import run_in_threads

# Size limit of an annotation. In memory, XML takes up to thirty times its text.
MAX_BYTES = 16 << 20
_MANY_FILES = 10_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """Facts about all files of a tree, from its folders.

    Attributes:
        is_at_home: Whether only files below `home` are annotations.
        folders: Image folders with annotations.
        in_splits: Whether `Pairing.split_of` finds a split for every annotation (or image).
        has_lists: Whether lists define the splits.
        number: Estimated number of files.
    """

    is_at_home: bool = False
    folders: frozenset[str] = frozenset()
    in_splits: bool = False
    has_lists: bool = False
    number: int = _MANY_FILES


Pair = tuple[str, str, str]
"""An image and its annotation, of which one may be ""; and what the latter calls its image."""


def any_name(path: str) -> bool:
    """Accept every file."""
    return True


def split_in_folders(path: str) -> str | None:
    """Return the first split in the names of a file's folders: "train" for train-clean-100/84/."""
    return next(filter(None, map(split_in_name, folder(path).split("/"))), None)


def in_annotated_folder(image: str, known: TreeFacts) -> bool:
    """Whether other images of an image's folder have annotations."""
    return folder(image) in known.folders


class StatedImage(NamedTuple):
    """How annotations state their images, which may be in any folder.

    Attributes:
        member: The part of an annotation with the image's name, for messages: "<filename>".
        name: Return that name; "" if there is none.
    """

    member: str
    name: Callable[[bytes], str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How annotation files are found, paired with images and parsed.

    Functions get paths relative to the root, with forward slashes; suffixes and folders are in
    lower case. They must be picklable: functions of a module, or partial ones.

    Attributes:
        suffix: What follows their image's name and a dot: "xml", "gt.txt"; "" for any.
        noun: Noun for an annotation in messages: "XML file".
        parse: Parse the content and the path of an annotation into the features of its image
            except the image itself, and notes; raise RecordError if it is invalid.
        media: Kind of the annotated files, "image" or "audio"; below, "image" means either.
        home: Folder of annotations.
        image_homes: Folders of images, parallel to `home`, likeliest first; "" for the folder above
            it.
        max_bytes: Size limit of an annotation; 0 if `parse` needs only its path.
        is_annotation: Whether a file with the suffix may be an annotation.
        is_media: Whether a file of the kind may have an annotation.
        image_key: Key by which annotations find an image: folders, then the name that all its
            annotations share; by default its path.
        image_keys: Possible keys of an annotation's image, by the annotation's path and its own or
            stated name, likeliest first; by default its own name in one of `image_homes`, or next
            to it if it is not below `home`.
        stated: The image that an annotation states; None if annotations state none.
        is_shared: Whether an annotation applies to all images with its name.
        is_background: Whether an image without annotation is part of the dataset; None if each
            image needs one.
        split_of: The split of an annotation (of an image if images need none), or why the image is
            not part of the dataset; None for none.
        set_folders: Folders in ImageSets/ with lists of splits, likeliest first.
        unlabelled: Folder of unannotated images that test lists name.
        declared: Classes declared for all files.
    """

    suffix: str
    noun: str
    parse: Callable[[bytes, str], Parsed]
    media: str = "image"
    home: str = ""
    image_homes: tuple[str, ...] = ("",)
    max_bytes: int = MAX_BYTES
    is_annotation: Callable[[str], bool] = any_name
    is_media: Callable[[str], bool] = any_name
    image_key: Callable[[str], str] | None = None
    image_keys: Callable[[str, str], Iterable[str]] | None = None
    stated: StatedImage | None = None
    is_shared: bool = False
    is_background: Callable[[str, TreeFacts], bool] | None = None
    split_of: Callable[[str], str | Rejected | None] = split_of_folders
    set_folders: tuple[str, ...] = ()
    unlabelled: str = ""
    declared: tuple[DeclaredClasses, ...] = ()

    def annotates(self, path: str) -> bool:
        """Whether a file may be an annotation, judged by its name."""
        has_suffix = not self.suffix or path.lower().endswith(f".{self.suffix}")
        return has_suffix and self.is_annotation(path)

    def has_media(self, path: str) -> bool:
        """Whether a file may have an annotation, judged by its name."""
        return media_kind(path) == self.media and self.is_media(path)

    def key(self, image: str) -> str:
        """Key by which annotations find an image."""
        return self.image_key(image) if self.image_key else place_of(image)

    def keys(self, annotation: str, name: str) -> Iterable[str]:
        """Possible keys of an annotation's image, by its own or stated name; likeliest first."""
        if self.image_keys:
            return self.image_keys(annotation, name)
        own = composed(annotation.rpartition("/")[2][: -1 - len(self.suffix)])
        homes = parallel_folders(annotation, self.home, self.image_homes)
        return (f"{home.lower()}/{own}" for home in homes)

    def bucket(self, image: str, annotation: str) -> str:
        """Key for the bucket of an image and its annotation, of one of the two."""
        name = annotation.rpartition("/")[2]
        key = self.key(image) if image else next(iter(self.keys(annotation, name)))
        return bucket_name(key.rpartition("/")[2])

    def split(self, pair: Pair, known: TreeFacts) -> str | Rejected | None:
        """The split of an image, or why it is left out; None if nothing states it."""
        path = pair[0] if self.is_background else pair[1]
        return self.split_of(path) if known.in_splits else None


def bucket_name(name: str) -> str:
    """Return the key for the bucket of an image and its annotation, by the name they share."""
    return without_upload_prefix(name) or name


def parts_of(paths: Iterable[str], files: Pairing, *, is_at_home: bool) -> Iterator[Pair]:
    """Yield the images and annotations among files, unpaired."""
    for path in paths:
        if files.annotates(path) and (not is_at_home or split_at(path, files.home)):
            yield "", path, ""
        elif files.has_media(path):
            yield path, "", ""


def _name_in_bucket(path: str) -> str:
    return bucket_name(shared_name(path))


def pair(parts: Iterable[Pair], files: Pairing) -> Iterator[Pair]:
    """Pair images and annotations; yield the rest unpaired.

    The name of an upload that no image has is the name without its prefix, if only one annotation
    has it.
    """
    found = [*pair_by_names(parts, files)]
    images = [image for image, annotation, _ in found if not annotation]
    by_key = _grouped(images, files.key)
    uploads = defaultdict[str, list[Pair]](list)
    for part in found:
        image, annotation, named = part
        if image and annotation:
            yield part
        elif annotation:
            uploads[_image_of_upload(annotation, named, files, by_key)].append(part)
    only = {image: several[0] for image, several in uploads.items() if image and not several[1:]}
    yield from ((image, "", "") for image in images if image not in only)
    for image, several in uploads.items():
        yield from ((image if image in only else "", *part[1:]) for part in several)


def _image_of_upload(
    annotation: str, named: str, files: Pairing, by_key: Mapping[str, list[str]]
) -> str:
    """Return the only image with the name of an upload without its prefix; "" if there is none."""
    name = without_upload_prefix(name_of(named or annotation))
    keys = files.keys(joined(folder(annotation), name), name) if name else ()
    found = next(filter(None, map(by_key.get, keys)), [])
    return found[0] if len(found) == 1 else ""


def pair_by_names(parts: Iterable[Pair], files: Pairing) -> Iterator[Pair]:
    """Pair images and annotations by their own or stated names; yield the rest unpaired."""
    parts = sorted(parts)
    images = [image for image, annotation, _ in parts if not annotation]
    by_key = _grouped(images, files.key)
    every = (image for image, _, _ in parts if image and files.stated)
    by_name = _grouped(every, _name_in_bucket)
    index_of = functools.cache(lambda name: FileIndex(by_name.get(name, ())))
    paired = set[str]()
    for image, annotation, named in parts:
        if image and annotation:
            yield image, annotation, named
        elif annotation:
            found = _find_images(annotation, named, files, by_key, index_of)
            yield from [(each, annotation, named) for each in found] or [("", annotation, named)]
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
    files: Pairing,
    by_key: Mapping[str, list[str]],
    index_of: Callable[[str], FileIndex],
) -> list[str]:
    """Images of an annotation: at one of its usual paths, else the only one of its name."""
    name = named or annotation.rpartition("/")[2]
    images = next(filter(None, map(by_key.get, files.keys(annotation, name))), [])
    if len(images) > 1 and not files.is_shared:
        return ([each for each in images if name_of(each) == name_of(name)] or images)[:1]
    if named and not images:
        only = index_of(_name_in_bucket(name)).find(joined(folder(annotation), name)) or ""
        return [only] if only in by_key.get(files.key(only), ()) else []
    return images


def judged(parts: Iterable[Pair], files: Pairing, known: TreeFacts) -> Iterator[Pair | Rejected]:
    """Yield pairs of an image and its one annotation, and rejects for other files."""
    member = files.stated.member if files.stated else ""
    named = f", and none, or several, have the one in its {member}" if member else ""
    missing = f"no {files.media} has the {files.noun}'s name{named}"
    contested: dict[str, Rejected] = {}
    by_image: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for image, annotation, stated in parts:
        if image:
            by_image.setdefault(image, []).append(annotation)
            names[annotation] = stated
        else:
            yield Rejected(source=annotation, reason=f"missing {files.media}", detail=missing)
    for image, owners in by_image.items():
        if len(owners) > 1:
            leave_out = files_to_ignore(map(glob.escape, owners[1:]))
            detail = f"{len(owners)} files describe {image}; merge them, or pass {leave_out.typed}"
            for each in owners:
                contested[each] = Rejected(source=each, reason="two annotations", detail=detail)
        elif owners[0] or (files.is_background and files.is_background(image, known)):
            yield image, owners[0], names[owners[0]]
        elif not files.is_background and in_annotated_folder(image, known):
            detail = f"no {files.noun} describes the {files.media}"
            is_bad = not known.has_lists
            yield Rejected(source=image, reason="no annotation", detail=detail, bad=is_bad)
    yield from contested.values()


def pairs_in(tree: Tree, files: Pairing, *, is_at_home: bool = False) -> list[Pair]:
    """Pair the images of a tree; the annotation of an image may be ""."""
    parts = parts_of(tree.files(), files, is_at_home=is_at_home)
    return [part for part in pair(parts, files) if part[0]]


def tree_facts(tree: Tree, files: Pairing) -> tuple[TreeFacts, Sequence[str]]:
    """Return the facts of a tree and its annotations."""
    paths = tree.files()
    annotations = sorted(filter(files.annotates, paths))
    proper = [path for path in annotations if split_at(path, files.home)]
    annotations = proper or annotations
    pairs = pairs_in(tree, files, is_at_home=bool(proper))
    known = TreeFacts(
        is_at_home=bool(proper),
        folders=frozenset(folder(image) for image, annotation, _ in pairs if annotation),
        has_lists=bool(split_lists_of(tree, files)),
        number=len(paths) if tree.is_known else _MANY_FILES,
    )
    expected = annotations
    if is_background := files.is_background:
        expected = [image for image, owner, _ in pairs if owner or is_background(image, known)]
    in_splits = all(map(files.split_of, expected))
    return dataclasses.replace(known, in_splits=in_splits), annotations


def split_lists_of(tree: Tree, files: Pairing) -> tuple[str, ...]:
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


_READ_THREADS = 16
# Hundreds of paths per element, since a shuffle costs per element (docs/dev/design.md).
_PATHS_PER_BATCH = 256
_Bucket = tuple[int, Iterable[bytes]]


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
    files: Pairing
    known: TreeFacts
    ignored: Ignored = NOTHING
    folders: Sequence[str] = ("",)
    names: "beam.PCollection[bytes] | None" = None
    yields_buckets: ClassVar[bool] = True

    @classmethod
    def of(cls, tree: Tree, files: Pairing) -> "ReadSideFiles":
        """Make the source of the files of a tree."""
        return cls(tree.root, files, tree_facts(tree, files)[0], tree.ignored)

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
        if files.stated:
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
        if not files.declared:
            return read
        return (read, pipeline | "Classes" >> beam.Create(files.declared)) | beam.Flatten()


def send_files(
    batch: bytes, files: Pairing, known: TreeFacts, buckets: Buckets
) -> Iterator[tuple[int, bytes]]:
    """Send the images and annotations of a batch of names to the buckets of their names."""
    parts = parts_of(paths_in(unpack(batch)), files, is_at_home=known.is_at_home)
    names = ((files.bucket(*part[:2]), part) for part in parts)
    return buckets.send(names)


def send_by_image(
    bucket: _Bucket, files: Pairing, root: str, buckets: Buckets
) -> Iterator[tuple[int, bytes]]:
    """Yield the pairs of a bucket; send unpaired files to the buckets of image names."""
    parts = [*pair_by_names(gather(bucket[1]), files)]
    unpaired = [annotation for image, annotation, _ in parts if not image]
    sent = [(bucket_name(shared_name(part[0])), part) for part in parts if part[0]]
    find_name = functools.partial(_find_name, files=files, root=root)
    return buckets.send([*sent, *run_in_threads(find_name, unpaired, _READ_THREADS)])


def _find_name(annotation: str, files: Pairing, root: str) -> tuple[str, Pair | Rejected]:
    try:
        file = FileRef(path=below(root, annotation))
        data = storage.read_bytes(file, files.max_bytes)
        named = files.stated.name(data) if files.stated else ""
    except RecordError as error:
        return "", Rejected.of(annotation, error)
    return bucket_name(shared_name(named or annotation)), ("", annotation, named)


def pair_bucket(bucket: _Bucket, files: Pairing, known: TreeFacts) -> Iterator[bytes]:
    """Yield the pairs and rejects of a bucket in packed batches."""
    values = [*gather(bucket[1])]
    rejected = [value for value in values if isinstance(value, Rejected)]
    parts = (value for value in values if isinstance(value, tuple))
    found = [*rejected, *judged(pair(parts, files), files, known)]
    starts = range(0, len(found), _PATHS_PER_BATCH)
    return (pack(found[start : start + _PATHS_PER_BATCH]) for start in starts)


def read_pairs(batch: bytes, files: Pairing, known: TreeFacts, root: str) -> Iterator[Element]:
    """Read pairs into records; pass rejects through."""
    read: list[str] = []
    for each in unpack(batch):
        if isinstance(each, Rejected):
            yield each
            continue
        split = files.split(each, known)
        element = split if isinstance(split, Rejected) else read_pair(each, split, files, root)
        yield element
        paths = each[:2] if isinstance(element, Rejected) else each[1:2]
        read += (below(root, path) for path in paths if path)
    yield Consumed(paths=tuple(read))


def read_pair(pair: Pair, split: str | None, files: Pairing, root: str) -> Record | Rejected:
    """Make the record of an image with its annotation."""
    image, annotation, named = pair
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
        notes=notes + upload_notes(named or annotation, image),
    )


def side_file_layout(
    name: str,
    sign: str,
    files: Pairing,
    begins: re.Pattern[bytes] | JsonSign | None = None,
    takes: Sequence[str] = (),
) -> Layout:
    """Make the layout of annotations that are paired with images.

    `begins` matches their first bytes; `parse` gets the options that `takes` names as keywords.
    """

    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        if not tree.is_folder or not tree.files_with(files.suffix):
            return None
        known, annotations = tree_facts(tree, files)
        counts = tree.counted(annotations, None if config.layout == name else begins)
        if not counts:
            return None
        options = {name: getattr(config, name) for name in takes}
        parse = functools.partial(files.parse, **options) if options else files.parse
        source = ReadSideFiles(
            tree.root, dataclasses.replace(files, parse=parse), known, tree.ignored
        )
        return claim_of_pairs(name, tree, source, tree.describe_counts(counts, files.noun))

    return Layout(name=name, sign=sign, claim=claim, takes=tuple(takes))


def claim_of_pairs(
    name: str, tree: Tree, source: ReadSideFiles, what: str, noun: str = "files"
) -> Claim:
    """Claim the annotations of a tree, described as `what`, with the splits of its ImageSets/."""
    lists = split_lists_of(tree, source.files)
    splits = ", ".join(each.partition("=")[0] for each in lists)
    return Claim(
        layout=name,
        rank=Rank.ANNOTATIONS,
        path=tree.input,
        understood=((noun, what + (f", image sets {splits}" if splits else "")),),
        options={"split_list": lists} if lists else {},
        side_suffixes=frozenset({source.files.suffix.rpartition(".")[2]}),
        plan=source,
    )
