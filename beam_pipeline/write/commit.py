"""Commit: counts are compared, files get their final names, and metadata.json comes last."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import apache_beam as beam

from beam_pipeline.assign.plan import Plan
from beam_pipeline.assign.stage import Assigned
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import croissant, description, metadata, provenance
from beam_pipeline.describe import statistics as value_statistics
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import ConfigError, CountMismatchError
from beam_pipeline.files import storage
from beam_pipeline.running.counters import count_requests, counter
from beam_pipeline.running.remote.problems import handed_over
from beam_pipeline.running.runner import Job
from beam_pipeline.running.spill import Spill
from beam_pipeline.write.final_files import is_committed, replace_dataset
from beam_pipeline.write.rejects import (
    REJECTS_FILE,
    lines_of,
    sorted_rejects,
    write_failed_rejects,
    write_rejects,
)
from beam_pipeline.write.sink import split_sink
from beam_pipeline.write.working_directory import commit_lease, delete_working_dirs
from tfrecord_dataset.metadata import FileEntry


def check_counts(plan: Plan, shards: Sequence[ShardInfo], num_rejected: int, num_read: int) -> None:
    """Compares the number of records read with those written and rejected.

    Raises:
        CountMismatchError: They differ, or the shards are not those that were planned.
    """
    num_written = sum(info.num_records for info in shards)
    planned = {
        (name, number) for name, split in plan.splits.items() for number in range(split.num_shards)
    }
    written = sorted((info.split, info.shard) for info in shards)
    by_split: Counter[str] = Counter()
    for info in shards:
        by_split[info.split] += info.num_records
    if (
        num_read != num_written + num_rejected
        or written != sorted(planned)
        or by_split != {name: split.num_records for name, split in plan.splits.items()}
    ):
        raise CountMismatchError(
            f"{num_read} records were read, but {num_written} written to {len(shards)} of "
            f"{len(planned)} shards and {num_rejected} rejected; the runner lost or repeated "
            "some, so nothing was committed: run the build again"
        )


@dataclasses.dataclass
class Commit(beam.PTransform):
    """ShardInfos to the committed dataset; yields its directory once it is.

    Raises while running: the plan's problem, after rejects.jsonl is written;
    CountMismatchError where a record went missing or came twice.
    """

    config: BuildConfig
    assigned: Assigned
    num_read: beam.PCollection[int]
    job: Job

    def expand(self, shards: beam.PCollection[ShardInfo]) -> beam.PCollection[str]:
        rejects = [
            packed | f"RejectLines{number}" >> beam.Map(_reject_lines, self.job.spill)
            for number, packed in enumerate(self.assigned.rejected)
        ]
        return (
            shards.pipeline
            | "Once" >> beam.Create([self.config])
            | "CommitOnce"
            >> beam.Map(
                _commit,
                *map(beam.pvalue.AsIter, rejects),
                job=self.job,
                plan=beam.pvalue.AsSingleton(self.assigned.plan),
                statistics=beam.pvalue.AsSingleton(self.assigned.statistics),
                shards=beam.pvalue.AsList(shards),
                num_read=beam.pvalue.AsSingleton(self.num_read),
            )
        )


def _reject_lines(packed: bytes, spill: Spill) -> bytes:
    return spill.put(lines_of(spill.get(packed)))


def _commit(
    config: BuildConfig,
    *rejected: Iterable[bytes],
    job: Job,
    plan: Plan,
    statistics: Statistics,
    shards: Sequence[ShardInfo],
    num_read: int,
) -> str:
    """`commit`, unless a stage of a job elsewhere has left a problem; it leaves its own."""
    with handed_over(job):
        if not (job.problem_file and storage.exists(job.problem_file)):
            rejects = job.spill.all(itertools.chain(*rejected))
            commit(config, plan, statistics, shards, rejects, num_read)
    count_requests()
    return config.dataset_dir


def commit(
    config: BuildConfig,
    plan: Plan,
    statistics: Statistics,
    shards: Sequence[ShardInfo],
    rejected: Iterable[bytes],
    num_read: int,
) -> str:
    """Makes the written shards a dataset; running it again after it was cut off is safe.

    Args:
        rejected: Packed batches of rejects' lines (`rejects.lines_of`).

    Returns:
        The dataset's directory.

    Raises:
        BeamTFRecordsError: The plan's problem; rejects.jsonl is written before.
        CountMismatchError: What was read is not what was written and rejected.
        DatasetExistsError: Another build has made the dataset meanwhile.
    """
    rejects = sorted_rejects(config, rejected)
    if isinstance(plan.problem, ConfigError):  # the data is not to blame
        raise plan.problem
    if plan.problem:
        write_failed_rejects(config, rejects)
        raise plan.problem
    check_counts(plan, shards, rejects.count, num_read)
    by_split = {
        split: sorted((info for info in shards if info.split == split), key=lambda info: info.shard)
        for split in plan.splits
    }
    files = {final: file for info in shards for final, file in info.temporary.items()}
    files[REJECTS_FILE] = write_rejects(config, rejects)
    texts = description.texts(config, plan.schema, by_split)
    num_records = {split: cut.num_records for split, cut in plan.splits.items()}
    texts[value_statistics.FILE] = value_statistics.statistics_text(
        plan.schema, statistics.values, num_records
    )
    entries = {path: file.entry for path, file in files.items()}
    texts[croissant.FILE] = croissant.croissant(
        config.name, config.version, plan.schema, by_split, entries, config.license
    )
    entries |= {path: FileEntry.of(text.encode()) for path, text in texts.items()}
    others = entries.keys() - {info.file for info in shards}
    metadata_text = metadata.metadata(
        config, plan, statistics, by_split, {path: entries[path] for path in others}
    )
    texts[provenance.FILE] = provenance.provenance(config, metadata_text)

    def write_descriptions(folder: str) -> None:
        for name, text in texts.items():
            storage.write_bytes(storage.join(folder, name), text.encode())
        storage.write_bytes(
            storage.join(folder, metadata.FILE), metadata_text.encode(), durable=True
        )

    with commit_lease(config):
        if not is_committed(config, files, metadata_text):
            replace_dataset(config, files, write_descriptions)
        delete_working_dirs(config)
    for reason, count in statistics.rejected.items():
        counter(f"rejected: {reason}").inc(count)
    for split, infos in by_split.items():
        split_sink(config, split).report_lineage(len(infos))
    return config.dataset_dir
