"""Verify: check a dataset on disk against its own description."""

import functools
import itertools
import os
import re
from collections.abc import Iterator

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline import recipe
from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shard_workers import shard_workers
from beam_pipeline.dataset.shards import (
    FileProblemError,
    cause_of,
    hash_cause,
    problem,
    stated_bytes,
    stated_shards,
    verify_shard,
    without_shards,
)
from beam_pipeline.describe import croissant, description, index, metadata, tfds
from beam_pipeline.describe.tfds import TfdsInfo
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.tfrecord.record_files import has_record_name, kind_of_file
from tfrecord_dataset.format.metadata import ShardEntry
from tfrecord_dataset.json_file import check_seal, parse_object
from tfrecord_dataset.store.urls import is_web

_REJECTS = "rejects.jsonl"
_FAILED_REJECTS = "failed-rejects.jsonl"
_INDEX_FOLDERS = ("index", "idx")
_INDEX_FILE = re.compile(r"(?P<shard>.*)\.(parquet|idx)(\.[0-9a-f]{32}\.partial)?")
_NUMBERED = re.compile(r"-\d{5,}-of-\d{5,}")
_DESCRIPTION = re.compile(
    r"(dataset_info|features|statistics)\.json|schema\.pbtxt|label_map\.(pbtxt|csv)"
    r"|.*\.labels\.txt"
)


def verify(
    dataset: Dataset | str | os.PathLike[str], options: PipelineOptions | None = None
) -> list[str]:
    """Check a dataset; return a line for each problem, none if it is intact.

    A line names the file, the record if any, the cause, and the remedy.

    Checks size and sha256 of every file; both checksums of every record; that each record is an
    Example that fits the schema, with the stated sha256 of images and rate and length of audio;
    that both indices locate each record; that the descriptions for other tools match metadata.json;
    and that no other file looks like part of the dataset. `open` has checked metadata.json itself.

        >>> beam_pipeline.verify("data/cells")
        []

    Args:
        dataset: An opened dataset, or the argument of `open`.
        options: Beam's options, whose runner checks the shards; the default is this process.

    Raises:
        ConfigError, DatasetDamagedError: As in `open`.
        DatasetChangedError: Another build has replaced it during the check.
        BeamTFRecordsError: The job failed.
    """
    info = dataset if isinstance(dataset, Dataset) else open_dataset(dataset)
    problems = [
        *_shard_problems(info, options or PipelineOptions([])),
        *(problem(metadata.FILE, each) for each in info.problems),
        *(
            problem(metadata.FILE, f"it states no hash of {path}")
            for path in sorted(_written_files(info) - info.files.keys())
        ),
        *_description_problems(info),
        *_provenance_problems(info),
        *_extra_problems(info),
    ]
    if problems:
        check_unchanged(info)
    return problems


def _shard_problems(info: Dataset, options: PipelineOptions) -> list[str]:
    paths = [storage.join(info.path, shard.file) for shard in _shards(info)]
    parent, _, version = info.path.rpartition("/")
    folder = storage.join(parent, f".verify-{version}")
    with shard_workers(options, f"verify-{info.metadata['name']}", info.path, folder) as workers:
        verify_one = functools.partial(
            verify_shard, info=without_shards(info), progress_dir=workers.progress_dir
        )
        of_shards = workers.map(verify_one, [*stated_shards(info)], paths)
    return [*itertools.chain.from_iterable(of_shards)]


def _shards(info: Dataset) -> Iterator[ShardEntry]:
    return itertools.chain.from_iterable(info.splits.values())


def _descriptions(info: Dataset) -> dict[str, str | None]:
    """Render a dataset's descriptions by path; None for those that depend on the records."""
    listed = {path: None for path in info.files if "/" not in path}
    if info.is_adopted:
        return dict(listed)
    name, version = info.metadata["name"], info.metadata["version"]
    can_read = not info.compressed
    texts = tfds.texts(name, version, info.schema, info.splits, reads_shards=can_read)
    others = [metadata.STATISTICS_FILE, description.CARD_FILE, croissant.FILE, recipe.FILE]
    of_records = dict.fromkeys([*others, _REJECTS])
    return {**listed, **of_records, **texts, **description.texts_of_schema(info.schema)}


def _written_files(info: Dataset) -> set[str]:
    """Paths of such a dataset's files other than shards, metadata.json and build.json."""
    indices = (index.files(shard.file, info.compressed) for shard in _shards(info))
    return {*_descriptions(info), *itertools.chain.from_iterable(indices)}


def _description_problems(info: Dataset) -> Iterator[str]:
    for path, text in _descriptions(info).items():
        if cause := _description_cause(info, path, text):
            yield problem(path, cause)
    if info.is_adopted:
        try:
            if tfds_info := TfdsInfo.read(info.path):
                tfds_info.check(info.splits)
        except DataError as error:
            yield problem(tfds.INFO_FILE, str(error))


def _description_cause(info: Dataset, path: str, text: str | None) -> str:
    entry = info.files.get(path)
    try:
        if text is None:  # rejects may exceed memory
            sha256 = storage.sha256_of(storage.join(info.path, path))
            return hash_cause(sha256, entry.sha256) if entry else ""
        is_same = stated_bytes(info.path, path, entry) == text.encode()
    except RecordError as error:
        return cause_of(error)
    except FileProblemError as error:
        return str(error)
    return "" if is_same else "it does not match metadata.json"


def _provenance_problems(info: Dataset) -> Iterator[str]:
    if info.is_adopted:
        return
    try:
        data = stated_bytes(info.path, metadata.BUILD_FILE, None)
        check_seal(data)
        if parse_object(data).get("metadata_sha256") != info.sha256:
            yield problem(metadata.BUILD_FILE, "it belongs to another metadata.json")
    except (FileProblemError, ValueError) as error:
        yield problem(metadata.BUILD_FILE, str(error))


def _extra_problems(info: Dataset) -> Iterator[str]:
    """Report files that readers may take for part of the dataset; others are the user's own."""
    if is_web(info.path):  # cannot be listed
        return
    belonging = {metadata.FILE, metadata.BUILD_FILE, _FAILED_REJECTS, *info.files}
    belonging |= _written_files(info) | {shard.file for shard in _shards(info)}
    looks_alike = _looks_adopted if info.is_adopted else _looks_built
    for path in _present_files(info):
        if path not in belonging and looks_alike(info, path):
            yield problem(path, "metadata.json does not list it", "move it elsewhere, or delete it")


def _present_files(info: Dataset) -> Iterator[str]:
    if info.is_adopted:  # includes subfolders
        yield from (file.relative for file in storage.list_files(info.path))
        return
    for folder in ("", *_INDEX_FOLDERS):
        names = storage.list_folder(storage.join(info.path, folder)).files
        yield from (f"{folder}/{name}".lstrip("/") for name in names)


def _looks_built(info: Dataset, path: str) -> bool:
    """Whether a file has the name of a build's file, for this dataset or another."""
    folder, _, name = path.rpartition("/")
    if folder:
        return _INDEX_FILE.fullmatch(name) is not None
    return (
        ".tfrecord" in name  # readers' patterns match it even with a suffix
        or _is_shard(info, path)
        or _DESCRIPTION.fullmatch(name) is not None
    )


def _looks_adopted(info: Dataset, path: str) -> bool:
    """Whether `adopt` would take a file for a shard, or for the description of one."""
    folder, _, below = path.partition("/")
    if folder in _INDEX_FOLDERS and (match := _INDEX_FILE.fullmatch(below)):
        return has_record_name(match["shard"]) or _NUMBERED.search(match["shard"]) is not None
    return has_record_name(path) or _is_shard(info, path)


def _is_shard(info: Dataset, path: str) -> bool:
    """Whether a file is numbered like a shard and contains records."""
    if not _NUMBERED.search(path):
        return False
    try:
        return kind_of_file(storage.join(info.path, path)) is not None
    except RecordError:  # a pipe, a broken link
        return False
