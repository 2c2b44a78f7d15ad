"""Annotation files paired with images by name: list, pair and read them.

Each file is listed once; files with the same name are paired in one bucket.
"""

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, Element, FileRef, Record, Rejected
from beam_pipeline.running.buckets import Buckets, gather
from beam_pipeline.running.gathering import least_buckets
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.sources.annotations.pairing import (
    Pair,
    Pairing,
    Part,
    TreeFacts,
    bucket_name,
    judged,
    pair,
    pair_by_names,
    parts_of,
    split_lists_of,
    tree_facts,
)
from beam_pipeline.sources.json_items import JsonSign
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.listing import ListNames, buckets_of_names
from beam_pipeline.sources.paths import below, input_folder, shared_name, upload_notes
from beam_pipeline.sources.tables.fit import OF_FILE
from beam_pipeline.sources.tree import NOTHING, Ignored, Tree
from tfrecord_dataset.store.listing import paths_in
from tfrecord_dataset.store.threads import run_in_threads

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
    def of(cls, path: str, files: Pairing, ignored: Ignored = NOTHING) -> "ReadSideFiles":
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
        if not files.declared:
            return read
        return (read, pipeline | "Classes" >> beam.Create(files.declared)) | beam.Flatten()


def send_files(
    batch: bytes, files: Pairing, known: TreeFacts, buckets: Buckets
) -> Iterator[tuple[int, bytes]]:
    """Send the images and annotations of a batch of names to the buckets of their names."""
    parts = parts_of(paths_in(unpack(batch)), files, is_at_home=known.is_at_home)
    names = ((bucket_name(files.shared_name(part[0] or part[1])), part) for part in parts)
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


def _find_name(annotation: str, files: Pairing, root: str) -> tuple[str, Part | Rejected]:
    try:
        file = FileRef(path=below(root, annotation))
        data = storage.read_bytes(file, files.max_bytes)
        named = files.named_image(data) if files.named_image else ""
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
        paths = each[:2] if isinstance(element, Rejected) else (each.annotation,)
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
        _, annotations = tree_facts(tree, files)
        counts = tree.counted(annotations, None if config.layout == name else begins)
        if not counts:
            return None
        return claim_of_pairs(name, tree, files, tree.describe_counts(counts, files.noun))

    def read(claim: Claim, config: BuildConfig, scratch: str) -> ReadSideFiles:
        options = {name: getattr(config, name) for name in takes}
        parse = functools.partial(files.parse, **options) if options else files.parse
        configured = dataclasses.replace(files, parse=parse)
        return ReadSideFiles.of(claim.path, configured, Ignored.of(config, claim.path))

    return Layout(name=name, sign=sign, claim=claim, read=read, takes=tuple(takes))


def claim_of_pairs(name: str, tree: Tree, files: Pairing, what: str, noun: str = "files") -> Claim:
    """Claim the annotations of a tree, described as `what`, with the splits of its ImageSets/."""
    lists = split_lists_of(tree, files)
    splits = ", ".join(each.partition("=")[0] for each in lists)
    return Claim(
        layout=name,
        rank=Rank.ANNOTATIONS,
        path=tree.input,
        understood=((noun, what + (f", image sets {splits}" if splits else "")),),
        options={"split_list": lists} if lists else {},
        side_suffixes=frozenset({files.suffix}),
    )
