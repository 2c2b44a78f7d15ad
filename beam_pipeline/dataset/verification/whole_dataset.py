"""Verify: all that a dataset states of itself is compared with what is there."""

import functools
import itertools
from collections.abc import Iterator, Sequence

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shard_parallelism import map_shards
from beam_pipeline.dataset.verification.descriptions import Values, description_problems
from beam_pipeline.dataset.verification.present_files import extra_problems, written_files
from beam_pipeline.dataset.verification.shards import (
    ShardReport,
    StatedRecords,
    StatedShard,
    verify_shard,
)
from beam_pipeline.dataset.verification.stated_files import problem
from beam_pipeline.dataset.verification.stored_record import followed_columns
from beam_pipeline.describe import index, metadata, provenance
from beam_pipeline.files import storage
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.running.job import watched
from tfrecord_dataset.python_words import speaks_python


@speaks_python
def verify(dataset: Dataset | str) -> list[str]:
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
    stated = [
        StatedShard(
            shard=shard,
            rows=info.files.get(index.rows_file(shard.file)),
            spans=info.files.get(index.spans_file(shard.file)),
        )
        for shard in shards
    ]
    records = StatedRecords(
        directory=info.path,
        features=info.schema,
        compressed=info.compressed,
        format_version=info.format_version,
        columns=followed_columns(info),
        existing=info.holds_existing_examples,
    )
    with watched(PipelineOptions([])) as local:
        verify_one = functools.partial(
            verify_shard, dataset=records, progress_dir=local.progress_dir
        )
        reports = map_shards(verify_one, stated, paths, local)
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
    if info.lists_files:
        for path in sorted(written_files(info) - {provenance.FILE} - info.files.keys()):
            yield problem(metadata.FILE, f"it states no hash of {path}")
