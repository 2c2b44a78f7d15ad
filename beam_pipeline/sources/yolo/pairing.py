"""Pairs the files of a YOLO dataset, in buckets of names."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.sources.listing import (
    ListNames,
    in_buckets,
    name_of,
    num_buckets,
    paths_in,
    values_of,
)
from beam_pipeline.sources.paths import below, in_batches
from beam_pipeline.sources.yolo.config import YoloConfig
from beam_pipeline.sources.yolo.files import (
    YoloProfile,
    listed_folders,
    merge_profiles,
    pair_files,
    profile_of,
    sort_files,
)
from beam_pipeline.sources.yolo.labels import MAX_BYTES, possible_keypoints
from beam_pipeline.sources.yolo.lists import YoloLine, name_in_line, splits_of_images

_Bucket = tuple[int, Iterable[bytes]]


@dataclasses.dataclass
class PairYoloFiles(beam.PTransform):
    """What every file is: packed batches of YoloPair, Rejected and DeclaredClasses.

    Attributes:
        origin: The absolute folder that keys are relative to.
        config: The dataset's description.
        files_per_bucket: About how many files one worker holds at once; those of one name are
            never divided.

    Raises:
        ConfigError: While the pipeline runs: the lines may have keypoints of which data.yaml
            says nothing.
    """

    origin: str
    config: YoloConfig
    files_per_bucket: int

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        origin, config, size = self.origin, self.config, self.files_per_bucket
        listed = pipeline | ListNames(origin, folders_below(origin, config))  # bytes
        number = AsSingleton(
            listed
            | "CountFiles" >> beam.Map(number_of)  # int
            | "SumFiles" >> beam.CombineGlobally(sum)  # int
        )
        names = (
            (
                listed | "SendFiles" >> beam.FlatMap(files_by_name, number, origin, config, size),
                pipeline
                | "Description" >> beam.Create([config])  # YoloConfig
                | "SendDescription" >> beam.FlatMap(described, origin, number, size),
            )
            | beam.Flatten()  # (bucket, bytes)
            | "GroupNames" >> beam.GroupByKey()
        )
        profile = (
            names
            | "LookAtFiles" >> beam.Map(look_into)  # YoloProfile
            | "MergeLooks" >> beam.CombineGlobally(merge_profiles)  # YoloProfile
            | "CheckLabels" >> beam.Map(checked, origin, config)  # YoloProfile
        )
        return names | "PairFiles" >> beam.FlatMap(
            pair, AsSingleton(profile), origin, config
        )  # bytes


def folders_below(origin: str, config: YoloConfig) -> list[str]:
    """The folders to list, below `origin`."""
    return [path[len(origin) :].lstrip("/") for path in listed_folders(config)]


def number_of(batch: bytes) -> int:
    """How many files a batch of names has."""
    return sum(len(names) for _, names in unpack(batch))


def files_by_name(
    batch: bytes, number: int, origin: str, config: YoloConfig, size: int
) -> Iterator[tuple[int, bytes]]:
    """The files of a batch, to the buckets of their names; but for the description itself."""
    description = {config.source}.union(*(config.splits or {}).values())
    items = (
        (name_of(path), path)
        for path in paths_in(unpack(batch))
        if below(origin, path) not in description
    )
    return in_buckets(items, num_buckets(number, size))


def described(
    config: YoloConfig, origin: str, number: int, size: int
) -> Iterator[tuple[int, bytes]]:
    """The lines of the lists of images, to the buckets of their names; and the classes."""
    return in_buckets(_described(config, origin), num_buckets(number, size))


def _described(config: YoloConfig, origin: str) -> Iterator[tuple[str, Any]]:
    if config.names is not None:
        yield "", DeclaredClasses(feature="boxes", names=config.names)
    for split, paths in (config.splits or {}).items():
        for path in paths:
            if not path.endswith(".txt"):
                continue
            source = path[len(origin) :].lstrip("/")
            try:
                text = storage.read_text(path)
            except RecordError as error:
                yield source, Rejected(source=source, reason=error.reason, detail=error.detail)
                continue
            for line_number, line in enumerate(text.splitlines(), start=1):
                if line := line.strip().replace("\\", "/"):
                    yield name_in_line(line), YoloLine(split, source, line_number, line)


def look_into(bucket: _Bucket) -> YoloProfile:
    """The profile of the files of one bucket."""
    return profile_of(value for value in values_of(bucket) if isinstance(value, str))


def checked(profile: YoloProfile, origin: str, config: YoloConfig) -> YoloProfile:
    """The profile of all files, once it is clear what their lines hold.

    Raises:
        ConfigError: They may hold keypoints, and nothing says so.
    """
    if config.keypoint_shape is not None:
        return profile
    texts = []
    for label in profile.labels:
        with contextlib.suppress(RecordError):  # is told when the file is read
            texts.append(storage.read_text(below(origin, label), MAX_BYTES))
    if shape := possible_keypoints(texts):
        count, size = shape
        raise ConfigError(
            f"the lines of {profile.labels[0]} and other label files have {5 + count * size} "
            f"numbers, which may be a box with {count} keypoints or a polygon: say in data.yaml "
            f"kpt_shape: [{count}, {size}] for keypoints, kpt_shape: [] for polygons"
        )
    return profile


def pair(bucket: _Bucket, profile: YoloProfile, origin: str, config: YoloConfig) -> Iterator[bytes]:
    """What the files of one bucket are, in batches."""
    files, lines, others = [], [], []
    for value in values_of(bucket):
        if isinstance(value, str):
            files.append(value)
        elif isinstance(value, YoloLine):
            lines.append(value)
        else:
            others.append(value)
    tree = sort_files(files, profile)
    splits = None
    if config.splits is not None:
        splits, missing = splits_of_images(tree.images, lines, config, origin)
        others += missing
    pairs = itertools.chain(others, pair_files(tree, profile, splits))
    return map(pack, in_batches(pairs))
