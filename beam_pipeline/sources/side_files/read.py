"""Reads images with the files that belong to them by name."""

import dataclasses
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Consumed, DeclaredClasses, FileRef, Record, Rejected
from beam_pipeline.running.buckets import gather
from beam_pipeline.running.gathering import Balance, Merge
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.listing import FILES_PER_BUCKET, ListNames, buckets_of_names, paths_in
from beam_pipeline.sources.paths import below, in_batches, shared_name
from beam_pipeline.sources.side_files.files import Line, Match, Pair, SideFiles, Survey
from beam_pipeline.sources.side_files.pairing import (
    Paired,
    image_name,
    known_of,
    look,
    merge_folders,
    merge_surveys,
    pair,
    read_annotation,
)
from beam_pipeline.sources.tables.fitting import OF_FILE

_Bucket = tuple[int, Iterable[bytes]]


@dataclasses.dataclass
class ReadSideFiles(beam.PTransform):
    """A Record {image, …} for each image with its annotation, and a Rejected for what has none.

    Attributes:
        root: The absolute folder, local or remote, that keys are relative to.
        files: Which files belong together, and what they say.
        folders: Those to be listed, below `root`.
        ignored: What of them is left out.
        files_per_bucket: About how many files' names one worker holds at once; those of one name
            are never divided.

    Raises:
        ConfigError: While the pipeline runs: the files cannot be read as they lie.
    """

    root: str
    files: SideFiles
    folders: Sequence[str] = ("",)
    ignored: Ignored = NOTHING
    files_per_bucket: int = FILES_PER_BUCKET

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        root, files, size = self.root, self.files, self.files_per_bucket
        listed = pipeline | ListNames(root, self.folders, self.ignored)  # bytes
        surveyed = (
            listed
            | "LookAtFiles" >> beam.Map(look_into, files)  # Survey
            | "MergeLooks" >> Merge(merge_surveys)  # Survey
            | "CompleteSurvey" >> beam.Map(files.surveyed, root)  # Survey
        )
        survey = AsSingleton(surveyed)
        lists = surveyed | "ConsumeLists" >> beam.FlatMap(consumed_lists, root)  # Consumed
        names = (
            (
                listed | "SendFiles" >> beam.FlatMap(files_by_name, files, survey, size),
                surveyed | "SendLists" >> beam.FlatMap(lists_by_name, files, root, size),
            )
            | beam.Flatten()  # (bucket, bytes)
            | "GroupNames" >> beam.GroupByKey()
        )
        if files.naming:
            paired = (
                names
                | "FindNames" >> beam.FlatMap(by_image, files, root, survey, size)
                | "GroupImages" >> beam.GroupByKey()  # (bucket, bytes)
                | "PairFiles" >> beam.Map(pair_images, files)  # Paired
            )
        else:
            paired = names | "PairFiles" >> beam.Map(pair_names, files, root, survey)  # Paired
        settled = (
            paired
            | "FindFolders" >> beam.Map(operator.itemgetter(1))  # Folders
            | "MergeFolders" >> Merge(merge_folders)  # Folders
            | "SettleFolders" >> beam.Map(files.settled, root)
        )
        elements = (
            paired
            | "JudgeFiles" >> beam.FlatMap(judge, files, survey, AsSingleton(settled))  # bytes
            | "BalanceFiles" >> Balance()  # bytes
            | "OpenBatches" >> beam.Map(unpack)  # list[Pair | Rejected | DeclaredClasses]
            | "ReadAnnotations" >> beam.FlatMap(read_pairs, files, root)  # Element
        )
        return (elements, lists) | "AllElements" >> beam.Flatten()  # Element


def consumed_lists(survey: Survey, root: str) -> Iterator[Consumed]:
    """The lists below an ImageSets/."""
    if survey.lists:
        yield Consumed(paths=tuple(below(root, path) for path in sorted(survey.lists)))


def look_into(batch: bytes, files: SideFiles) -> Survey:
    """The survey of a batch of names."""
    return look(unpack(batch), files)


def files_by_name(
    batch: bytes, files: SideFiles, survey: Survey, size: int
) -> Iterator[tuple[int, bytes]]:
    """The files of a batch, to the buckets of their names."""
    items = ((files.common_name(shared_name(path)), path) for path in paths_in(unpack(batch)))
    return buckets_of_names(survey.number, size).send(items)


def lists_by_name(
    survey: Survey, files: SideFiles, root: str, size: int
) -> Iterator[tuple[int, bytes]]:
    """The lines of lists, to the buckets of the names that they have; and what goes along."""
    items = (
        (files.common_name(item.name) if isinstance(item, Line) else "", item)
        for item in files.lines(survey, root)
    )
    return buckets_of_names(survey.number, size).send(items)


def by_image(
    bucket: _Bucket, files: SideFiles, root: str, survey: Survey, size: int
) -> Iterator[tuple[int, bytes]]:
    """What is known of the files of one bucket, to the buckets of the images' names."""
    known = known_of(gather(bucket[1]), files, survey, root)
    items = ((image_name(each), each) for each in known)
    return buckets_of_names(survey.number, size).send(items)


def pair_images(bucket: _Bucket, files: SideFiles) -> Paired:
    """What the files of one bucket are, of which all is known."""
    return pair(gather(bucket[1]), files)


def pair_names(bucket: _Bucket, files: SideFiles, root: str, survey: Survey) -> Paired:
    """What the files of one bucket are, if no annotation names an image of another."""
    return pair(known_of(gather(bucket[1]), files, survey, root), files)


def judge(paired: Paired, files: SideFiles, survey: Survey, settled: Any) -> Iterator[bytes]:
    """What the files of one bucket are, in batches, given the folders of all."""

    def judged() -> Iterator[Pair | Rejected | DeclaredClasses]:
        for each in unpack(paired[0]):
            if isinstance(each, Match):
                yield from files.judge(each, survey, settled)
            else:
                yield each

    return map(pack, in_batches(judged()))


def read_pairs(
    pairs: Iterable[Pair | Rejected | DeclaredClasses], files: SideFiles, root: str
) -> Iterator[Record | Rejected | DeclaredClasses]:
    """The record of each image with its annotation; everything else passes."""
    for each in pairs:
        yield read_pair(each, files, root) if isinstance(each, Pair) else each


def read_pair(pair: Pair, files: SideFiles, root: str) -> Record | Rejected:
    """The record of one image with its annotation."""
    image, annotation, split = pair
    try:
        data = read_annotation(root, annotation, files) if annotation and files.max_bytes else b""
        features, notes = files.parse(data, annotation)
    except RecordError as error:
        return Rejected.of(annotation, error)
    return Record(
        key=image,
        features={files.media: OF_FILE[files.media](file=FileRef(path=below(root, image)))}
        | features,
        split=split,
        source=annotation,
        notes=notes,
    )
