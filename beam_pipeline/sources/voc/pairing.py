"""Pairs the files of a Pascal VOC tree, in buckets of names.

An annotation goes with the image of its own name, else with the one that its <filename> names:
files cross once by their own names, and once more by those of the images.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef, Rejected
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.sources.listing import (
    ListNames,
    in_buckets,
    name_of,
    num_buckets,
    paths_in,
    values_of,
)
from beam_pipeline.sources.paths import below, in_batches, unused
from beam_pipeline.sources.splits import split_of_folders
from beam_pipeline.sources.voc.annotation import MAX_BYTES, named_image
from beam_pipeline.sources.voc.files import (
    VocAnnotation,
    VocImage,
    VocPaired,
    VocProfile,
    match_images,
    merge_profiles,
    pair_files,
    profile_of,
    reject_bare,
    sort_files,
)
from beam_pipeline.sources.voc.sets import (
    ImageSets,
    ListedName,
    bare_name,
    find_image_sets,
    listed_names,
    splits_of_listed,
)

_READ_THREADS = 16

_Bucket = tuple[int, Iterable[bytes]]


@dataclasses.dataclass
class PairVocFiles(beam.PTransform):
    """What every file below `root` is: packed batches of VocPair and Rejected.

    Attributes:
        root: The folder.
        files_per_bucket: About how many files one worker holds at once; those of one name are
            never divided.
    """

    root: str
    files_per_bucket: int

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        root, size = self.root, self.files_per_bucket
        listed = pipeline | ListNames(root)  # bytes
        profiles = (
            listed
            | "LookAtFiles" >> beam.Map(look_into)  # VocProfile
            | "MergeLooks" >> beam.CombineGlobally(merge_profiles)  # VocProfile
        )
        profile = AsSingleton(profiles)
        sets = profiles | "FindImageSets" >> beam.Map(find_sets, root)  # ImageSets
        paired = (
            (
                listed | "SendFiles" >> beam.FlatMap(files_by_name, profile, size),
                sets | "SendLists" >> beam.FlatMap(lists_by_name, root, profile, size),
            )
            | beam.Flatten()  # (bucket, bytes)
            | "GroupNames" >> beam.GroupByKey()
            | "FindNames" >> beam.FlatMap(by_image, root, profile, AsSingleton(sets), size)
            | "GroupImages" >> beam.GroupByKey()
            | "PairFiles" >> beam.Map(pair)  # VocPaired
        )
        image_folders = (
            paired
            | "FindImageFolders" >> beam.Map(lambda each: each.image_folders)
            | "MergeFolders" >> beam.CombineGlobally(merge_folders)
        )  # frozenset[str]
        return paired | "RejectBareImages" >> beam.FlatMap(
            complete, AsSingleton(image_folders)
        )  # bytes


def look_into(batch: bytes) -> VocProfile:
    """The profile of a batch of names."""
    return profile_of(unpack(batch))


def find_sets(profile: VocProfile, root: str) -> ImageSets:
    """The image sets of the tree."""
    return find_image_sets(profile.image_sets, root)


def files_by_name(batch: bytes, profile: VocProfile, size: int) -> Iterator[tuple[int, bytes]]:
    """The files of a batch, to the buckets of their names."""
    items = ((name_of(path), path) for path in paths_in(unpack(batch)))
    return in_buckets(items, num_buckets(profile.number, size))


def lists_by_name(
    sets: ImageSets, root: str, profile: VocProfile, size: int
) -> Iterator[tuple[int, bytes]]:
    """The lines of the image sets, to the buckets of the names that they have."""
    lines = (
        (bare_name(name), ListedName(path, number, name))
        for path in sorted(sets.splits)
        for number, name in listed_names(storage.read_text(below(root, path)))
    )
    rejected = ((reject.source, reject) for reject in sets.rejected)
    items = itertools.chain[tuple[str, Any]](rejected, lines)
    return in_buckets(items, num_buckets(profile.number, size))


def by_image(
    bucket: _Bucket, root: str, profile: VocProfile, sets: ImageSets, size: int
) -> Iterator[tuple[int, bytes]]:
    """The files of one bucket, to the buckets of the images that they are or describe."""
    items = described(values_of(bucket), root, profile, sets)
    return in_buckets(items, num_buckets(profile.number, size))


def described(
    values: Iterable[str | ListedName | Rejected], root: str, profile: VocProfile, sets: ImageSets
) -> Iterator[tuple[str, VocAnnotation | VocImage | Rejected]]:
    """What is known of all files of some names, and the lines that list these, by image's name."""
    listed, rejected, files = [], [], []
    for value in values:
        if isinstance(value, str):
            files.append(value)
        elif isinstance(value, ListedName):
            listed.append(value)
        else:
            rejected.append(value)
    tree = sort_files(files, profile.below_annotations)
    splits = splits_of_listed(listed, sets, tree.annotations)
    images = match_images(tree.images, {path: path for path in tree.annotations})
    filenames = read_filenames(root, [path for path in tree.annotations if path not in images])
    for path in tree.annotations:
        filename = filenames.get(path, "")
        if isinstance(filename, Rejected):
            rejected.append(filename)
            continue
        split = splits.split(path)
        if not sets.homes and profile.in_splits:
            split = split_of_folders(path)
        image = images.get(path, "")
        yield name_of(image or filename), VocAnnotation(path, image, filename, split)
    for path in tree.images:
        home, name = sets.home(path), name_of(path)
        already_rejected = home is not None and (home, name) in splits.missing
        yield name, VocImage(path, already_rejected, bad=home is None)
    for reject in itertools.chain(rejected, splits.left_over(), map(unused, tree.unused)):
        yield reject.source, reject


def read_filenames(root: str, annotations: Sequence[str]) -> dict[str, str | Rejected]:
    """What the <filename> of each annotation is, or why it cannot be read."""

    def read(path: str) -> str | Rejected:
        try:
            return named_image(storage.read_bytes(FileRef(path=below(root, path)), MAX_BYTES))
        except RecordError as error:
            return Rejected(source=path, reason=error.reason, detail=error.detail)

    if not annotations:
        return {}
    with ThreadPoolExecutor(_READ_THREADS) as pool:
        return dict(zip(annotations, pool.map(read, annotations), strict=True))


def pair(bucket: _Bucket) -> VocPaired:
    """What the files of one bucket are."""
    values = values_of(bucket)
    paired = pair_files(
        [value for value in values if isinstance(value, VocAnnotation)],
        [value for value in values if isinstance(value, VocImage)],
    )
    rejected = [value for value in values if isinstance(value, Rejected)]
    return dataclasses.replace(paired, files=[*rejected, *paired.files])


def merge_folders(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    """The folders of images with annotations."""
    return frozenset().union(*parts)


def complete(paired: VocPaired, image_folders: frozenset[str]) -> Iterator[bytes]:
    """What the files of one bucket are, in batches, given the folders of all images."""
    files = itertools.chain(paired.files, reject_bare(paired.bare, image_folders))
    return map(pack, in_batches(files))
