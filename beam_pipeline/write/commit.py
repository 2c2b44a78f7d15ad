"""Commit: check the counts, give files their final names, and write metadata.json last."""

import contextlib
import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import apache_beam as beam

from beam_pipeline.assign.plan import Plan
from beam_pipeline.assign.stage import Assigned
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import check_readable
from beam_pipeline.describe import croissant, description, metadata
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import ConfigError, CountMismatchError
from beam_pipeline.files import storage
from beam_pipeline.running.failures import errors_handed_over
from beam_pipeline.running.runner import Job, counter
from beam_pipeline.running.spill import spilling
from beam_pipeline.write.claim import others_named
from beam_pipeline.write.final_files import is_committed, make_dataset
from beam_pipeline.write.rejects import (
    REJECTS_FILE,
    SortedRejects,
    failed_rejects_path,
    sort_rejects,
    write_failed_rejects,
    write_rejects,
)
from beam_pipeline.write.working_directory import delete_working_dirs
from tfrecord_dataset.format.metadata import FileEntry


def _write_provenance(path: str, text: str) -> None:
    """Write build.json; on a store, keep that of an earlier attempt at the same commit."""
    try:
        storage.write_bytes(path, text.encode(), is_new=True)
    except FileExistsError:
        stated = [json.loads(each)["metadata_sha256"] for each in (storage.read_text(path), text)]
        if stated[0] != stated[1]:
            raise


def check_counts(plan: Plan, shards: Sequence[ShardInfo], num_rejected: int, num_read: int) -> None:
    """Raise CountMismatchError unless each record read is rejected or in a planned shard."""
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
    """Commit ShardInfos as a dataset, and yield its directory.

    Raises while running: the plan's problem, after writing rejects.jsonl; CountMismatchError if
    a record is missing or duplicated.
    """

    config: BuildConfig
    assigned: Assigned
    counts: tuple[beam.PCollection[int], ...]
    job: Job

    def expand(self, shards: beam.PCollection[ShardInfo]) -> beam.PCollection[str]:
        return (
            shards.pipeline
            | "Once" >> beam.Impulse()
            | "CommitOnce"
            >> beam.Map(
                _commit,
                *map(beam.pvalue.AsIter, (*self.counts, *self.assigned.rejected)),
                config=self.config,
                num_counts=len(self.counts),
                job=self.job,
                plan=beam.pvalue.AsSingleton(self.assigned.plan),
                statistics=beam.pvalue.AsSingleton(self.assigned.statistics),
                shards=beam.pvalue.AsList(shards),
            )
        )


def _commit(
    _: bytes,
    *counts_and_rejected: Iterable[Any],
    config: BuildConfig,
    num_counts: int,
    job: Job,
    **found: Any,
) -> str:
    """Run `commit` unless an earlier stage of a remote job left a problem, and leave its own."""
    counts, rejected = counts_and_rejected[:num_counts], counts_and_rejected[num_counts:]
    with contextlib.ExitStack() as resources, errors_handed_over(job):
        if not (job.problem_file and storage.exists(job.problem_file)):
            sorting = job.spill if job.is_here else resources.enter_context(spilling())
            batches = itertools.chain(*map(job.spill.all, rejected))
            rejects = sort_rejects(batches, sorting)
            commit(config, rejects=rejects, num_read=sum(map(sum, counts)), **found)
    return config.dataset_dir


def commit(
    config: BuildConfig,
    plan: Plan,
    statistics: Statistics,
    shards: Sequence[ShardInfo],
    rejects: SortedRejects,
    num_read: int,
) -> str:
    """Make the written shards a dataset, and return its directory; safe to repeat.

    Raises:
        BeamTFRecordsError: The plan's problem, after writing rejects.jsonl.
        CountMismatchError: Records read differ from those written and rejected.
        DataError: A description of the dataset cannot be read back.
        DatasetExistsError: Another build has written the dataset in the meantime.
    """
    if isinstance(plan.problem, ConfigError):  # not a problem of the data
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
    with others_named(config):
        files[REJECTS_FILE] = write_rejects(config, rejects)
    texts = description.texts(config, plan.schema, by_split)
    num_records = {split: cut.num_records for split, cut in plan.splits.items()}
    texts[metadata.STATISTICS_FILE] = metadata.statistics_text(
        plan.schema, statistics.values, num_records
    )
    entries = {path: file.entry for path, file in files.items()}
    texts[croissant.FILE] = croissant.croissant(config, plan.schema, by_split, entries)
    entries |= {path: FileEntry.of(text.encode()) for path, text in texts.items()}
    others = entries.keys() - {info.file for info in shards}
    metadata_text = metadata.metadata(
        config, plan, statistics, by_split, {path: entries[path] for path in others}
    )
    build_text = metadata.provenance(config, metadata_text)
    own = {metadata.BUILD_FILE: build_text, metadata.FILE: metadata_text}
    check_readable(config.dataset_dir, texts | own)

    def write_descriptions(folder: str) -> None:
        for name, text in texts.items():
            storage.write_bytes(storage.join(folder, name), text.encode(), is_new=True)
        _write_provenance(storage.join(folder, metadata.BUILD_FILE), build_text)
        data = metadata_text.encode()
        storage.write_bytes(storage.join(folder, metadata.FILE), data, durable=True, is_new=True)

    with others_named(config):
        if not is_committed(config, files, metadata_text):
            make_dataset(config, files, write_descriptions)
    delete_working_dirs(config)
    if storage.is_remote(config.dataset_dir):
        storage.delete([failed_rejects_path(config)])
    for reason, count in statistics.rejected.items():
        counter(f"rejected: {reason}").inc(count)
    return config.dataset_dir
