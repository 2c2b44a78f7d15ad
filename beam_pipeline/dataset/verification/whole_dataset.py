"""Verify: all that a dataset states of itself is compared with what is there."""

import functools
import itertools
import os
import re
from collections.abc import Iterator, Sequence

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.verification.descriptions import (
    Values,
    description_files,
    description_problems,
)
from beam_pipeline.dataset.verification.shards import (
    ShardReport,
    one_by_one,
    verify_shard,
)
from beam_pipeline.dataset.verification.stated_files import problem
from beam_pipeline.describe import index, metadata, provenance
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.running.job import watched
from beam_pipeline.running.parallel import map_shards
from beam_pipeline.sources.tfrecord.files import is_named_so, kind_of_file
from tfrecord_dataset.python_words import speaks_python
from tfrecord_dataset.store.urls import is_web

_INDEX_FOLDERS = ("index", "idx")
_INDEX_FILE = re.compile(r"(?P<shard>.*)\.(parquet|idx)(\.[0-9a-f]{32}\.partial)?")
_NUMBERED = re.compile(r"-\d{5,}-of-\d{5,}")
_DESCRIPTION = re.compile(
    r"(dataset_info|features|statistics)\.json|schema\.pbtxt|label_map\.(pbtxt|csv)"
    r"|.*\.labels\.txt"
)
_FAILED_REJECTS = "failed-rejects.jsonl"


@speaks_python
def verify(dataset: Dataset | str | os.PathLike[str]) -> list[str]:
    """What is wrong with the dataset, a line each; an empty list when all is well.

    A line names the file, the record if there is one, the cause, and what to do.

    Checked: size and sha256 of every file, and that no other looks as if it belonged to the
    dataset; both checksums of every record; that it is an Example with all keys of the schema, of
    its kinds, lengths and ranges; that every image has the sha256 that its record states, all
    audio the sample rate, samples and channels; that both indices are those of the records; what
    all other files repeat of metadata.json and of the records. `open` has checked
    metadata.json itself.

        >>> beam_pipeline.verify("data/cells")
        []

    Args:
        dataset: An opened one, or what `open` opens.

    Raises:
        ConfigError, DatasetDamagedError: As of `open`.
        DatasetChangedError: Another build has taken its place meanwhile.
    """
    info = dataset if isinstance(dataset, Dataset) else open_dataset(dataset)
    shards = [shard for entries in info.splits.values() for shard in entries]
    paths = [storage.join(info.path, shard.file) for shard in shards]
    with watched(PipelineOptions([])) as local:
        verify_one = functools.partial(verify_shard, progress_dir=local.progress_dir)
        reports = map_shards(verify_one, list(one_by_one(info)), paths, local.processes)
    problems = [
        *(line for report in reports for line in report.problems),
        *_metadata_problems(info),
        *description_problems(info, _values(info, reports)),
        *extra_problems(info),
    ]
    if problems:
        check_unchanged(info)
    return problems


def _values(info: Dataset, reports: Sequence[ShardReport]) -> Values:
    """What the records hold, by split; nothing of a split with a problem."""
    values: dict[str, dict[str, Observed]] = {}
    rest = iter(reports)
    for split, shards in info.splits.items():
        of_split = list(itertools.islice(rest, len(shards)))
        if any(report.problems for report in of_split):
            continue
        values[split] = {}
        for report in of_split:
            for name, each in report.values.items():
                values[split].setdefault(name, Observed()).merge(each)
    return values


def _metadata_problems(info: Dataset) -> Iterator[str]:
    for each in info.problems:
        yield problem(metadata.FILE, each)
    for path in sorted(written_files(info) - {provenance.FILE} - info.files.keys()):
        yield problem(metadata.FILE, f"it states no hash of {path}")


def written_files(info: Dataset) -> set[str]:
    """The files that a dataset of this kind has, beside its shards and metadata.json."""
    return {
        *description_files(info),
        *(
            path
            for shards in info.splits.values()
            for shard in shards
            for path in index.files(shard.file, info.compressed)
        ),
    }


def extra_problems(info: Dataset) -> Iterator[str]:
    """Files that readers may take for a part of the dataset, a line each.

    Files of other names are the user's own.
    """
    if is_web(info.path):  # which list nothing
        return
    shards = {shard.file for entries in info.splits.values() for shard in entries}
    belonging = {metadata.FILE, provenance.FILE, _FAILED_REJECTS, *info.files, *shards}
    belonging |= written_files(info)
    looks_alike = _looks_adopted if info.is_adopted else _looks_built
    for path in _present_files(info):
        if path not in belonging and looks_alike(info, path):
            yield problem(path, "metadata.json does not list it", "move it elsewhere, or delete it")


def _present_files(info: Dataset) -> Iterator[str]:
    if info.is_adopted:  # from folders below, too
        yield from (file.relative for file in storage.list_files(info.path))
        return
    for folder in ("", *_INDEX_FOLDERS):
        names = storage.list_folder(storage.join(info.path, folder)).files
        yield from (f"{folder}/{name}".lstrip("/") for name in names)


def _looks_built(info: Dataset, path: str) -> bool:
    """Whether it looks like what a build writes, of this name or of another."""
    folder, _, name = path.rpartition("/")
    if folder:
        return _INDEX_FILE.fullmatch(name) is not None
    return (
        ".tfrecord" in name  # with more behind it, readers' patterns take it, too
        or _is_shard(info, path)
        or _DESCRIPTION.fullmatch(name) is not None
    )


def _looks_adopted(info: Dataset, path: str) -> bool:
    """Whether `adopt` would take it for a shard, or has described a shard by it."""
    folder, _, below = path.partition("/")
    if folder in _INDEX_FOLDERS and (found := _INDEX_FILE.fullmatch(below)):
        return is_named_so(found["shard"]) or _NUMBERED.search(found["shard"]) is not None
    return is_named_so(path) or _is_shard(info, path)


def _is_shard(info: Dataset, path: str) -> bool:
    """Whether a file is numbered like shards, and is one: others number their files so, too."""
    if not _NUMBERED.search(path):
        return False
    try:
        return kind_of_file(storage.join(info.path, path)) is not None
    except RecordError:  # a pipe, a link that leads nowhere
        return False
