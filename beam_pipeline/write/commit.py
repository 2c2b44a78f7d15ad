"""Commit: check the counts, give files their final names, and write metadata.json last."""

import contextlib
import dataclasses
import errno
import functools
import itertools
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import apache_beam as beam

from beam_pipeline.assign.assign_shards import Assigned
from beam_pipeline.assign.dataset_plan import Plan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import check_readable
from beam_pipeline.describe import croissant, description, metadata
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.errors import ConfigError, CountMismatchError
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.running.failures import errors_handed_over
from beam_pipeline.running.pickling import Constant
from beam_pipeline.running.runner import Job, counter
from beam_pipeline.running.spill import spilling
from beam_pipeline.write.claim import lost, made_meanwhile, others_named
from beam_pipeline.write.directories import (
    FOLDERS,
    delete_working_dirs,
    new_dataset_dir,
    working_dir,
)
from beam_pipeline.write.rejects_file import (
    REJECTS_FILE,
    SortedRejects,
    failed_rejects_path,
    sort_rejects,
    write_failed_rejects,
    write_rejects,
)
from tfrecord_dataset.durable import replace_folder, restore_folder
from tfrecord_dataset.format.metadata import FileEntry


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
    plan: Constant[Plan],
    statistics: Constant[Statistics],
    shards: Sequence[ShardInfo],
) -> str:
    """Run `commit` unless an earlier stage of a remote job left a problem, and leave its own."""
    counts, rejected = counts_and_rejected[:num_counts], counts_and_rejected[num_counts:]
    with contextlib.ExitStack() as resources, errors_handed_over(job):
        if not (job.problem_file and storage.exists(job.problem_file)):
            sorting = job.spill if job.is_here else resources.enter_context(spilling())
            batches = itertools.chain(*map(job.spill.all, rejected))
            rejects = sort_rejects(batches, sorting)
            commit(
                config,
                plan=plan.value,
                statistics=statistics.value,
                shards=shards,
                rejects=rejects,
                num_read=sum(map(sum, counts)),
                claim=job.claim,
            )
    return config.dataset_dir


def commit(
    config: BuildConfig,
    plan: Plan,
    statistics: Statistics,
    shards: Sequence[ShardInfo],
    rejects: SortedRejects,
    num_read: int,
    claim: str = "",
) -> str:
    """Make the written shards a dataset, and return its directory; safe to repeat.

    Raises:
        BeamTFRecordsError: The plan's problem, after writing rejects.jsonl; or another build has
            taken the folder since `claim`, or written the dataset.
        CountMismatchError: Records read differ from those written and rejected.
        DataError: A description of the dataset cannot be read back.
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
    texts[metadata.BUILD_FILE] = metadata.provenance(config, metadata_text)
    texts[metadata.FILE] = metadata_text
    check_readable(config.dataset_dir, texts)
    with others_named(config):
        was_committed = is_committed(config, files, metadata_text)
        if storage.is_remote(config.dataset_dir):
            _complete_folder(config, files, texts, claim)
        elif not was_committed:
            _replace_folder(config, files, texts)
    delete_working_dirs(config)
    if storage.is_remote(config.dataset_dir):
        storage.delete([failed_rejects_path(config)])
    for reason, count in statistics.rejected.items():
        counter(f"rejected: {reason}").inc(count)
    return config.dataset_dir


def _write_texts(folder: str, texts: Mapping[str, str]) -> None:
    """Write descriptions; metadata.json, the last one, survives a power loss."""
    for name, text in texts.items():
        path = storage.join(folder, name)
        if name == metadata.BUILD_FILE:
            _write_provenance(path, text)
        else:
            is_last = name == metadata.FILE
            storage.write_bytes(path, text.encode(), durable=is_last, is_new=True)


def _write_provenance(path: str, text: str) -> None:
    """Write build.json; on a store, keep that of an earlier attempt at the same commit."""
    try:
        storage.write_bytes(path, text.encode(), is_new=True)
    except FileExistsError:
        stated = [json.loads(each)["metadata_sha256"] for each in (storage.read_text(path), text)]
        if stated[0] != stated[1]:
            raise


def _complete_folder(
    config: BuildConfig, files: Mapping[str, TemporaryFile], texts: Mapping[str, str], claim: str
) -> None:
    """Make a store's folder of finished files a dataset; safe to repeat.

    The folder may have been deleted while this build was suspended, and filled by another. So
    metadata.json is put only while the claim and all files are this build's. The claim is compared
    again afterwards, since the build may also be suspended in between. Shards that a build has put
    which has lost the claim, or found other input, are deleted.

    Raises:
        BeamTFRecordsError: The folder was deleted and taken by another build.
        FileExistsError: Another build's object exists in place of a file.
        FileNotFoundError: A file is missing.
    """
    folder, text = config.dataset_dir, texts[metadata.FILE]
    _write_texts(folder, {name: text for name, text in texts.items() if name != metadata.FILE})
    error = lost(config, claim)
    if error and not is_committed(config, files, text):  # by another attempt of this job
        raise error
    there = _check_files(config, files)
    storage.delete_all(
        storage.join(folder, path)
        for path in there - files.keys() - texts.keys()
        if is_build_file(config, path)
    )
    _write_texts(folder, {metadata.FILE: text})
    if lost(config, claim):
        _check_files(config, files)


def _check_files(config: BuildConfig, files: Mapping[str, TemporaryFile]) -> Set[str]:
    """Compare the files on a store with those that this build has put there; return all paths.

    An object of another version is read, as some stores list another version than they return for
    a new object.
    """
    there = {
        f"{folder}/{name}".lstrip("/"): status
        for folder in FOLDERS
        for name, status in storage.statuses(storage.join(config.dataset_dir, folder)).items()
    }
    for final, file in sorted(files.items()):
        status = there.get(final)
        if status is None:
            raise FileNotFoundError(errno.ENOENT, "A finished shard was deleted", file.path)
        if status == (file.num_bytes, file.version):
            continue
        if status.size != file.num_bytes or storage.sha256_of(file.path) != file.sha256:
            raise FileExistsError(errno.EEXIST, "Another object is there", file.path)
    return there.keys()


def _replace_folder(
    config: BuildConfig, files: Mapping[str, TemporaryFile], texts: Mapping[str, str]
) -> None:
    """Complete a local dataset in a folder of its own, and replace the older one in one step.

    Safe to repeat.
    """
    new, root = new_dataset_dir(config), config.dataset_dir
    restore_folder(new, root)
    storage.delete([new])
    placed = [(file.path, os.path.join(new, final)) for final, file in files.items()]
    LOCAL.link_all(placed, instead=os.rename)
    _write_texts(new, texts)
    kept = [
        (os.path.join(root, path), os.path.join(new, path))
        for path in _files_below(root)
        if not is_build_file(config, path) and not os.path.lexists(os.path.join(new, path))
    ]
    LOCAL.link_all(kept, instead=functools.partial(shutil.copy2, follow_symlinks=False))
    replace_folder(new, root)


def _files_below(root: str) -> Iterator[str]:
    """Yield every file and link below a local folder, hidden ones too, by relative path."""
    for folder, below, names in os.walk(root):
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(folder, name), root)


def is_build_file(config: BuildConfig, path: str) -> bool:
    """Whether builds write files of this path in the dataset's directory."""
    folder, _, name = path.rpartition("/")
    build_file = (
        rf"{re.escape(config.name)}-\w+\.tfrecord-\d{{5}}-of-\d{{5}}(\.gz)?(\.parquet|\.idx)?"
        r"|.*\.labels\.txt|dataset_info\.json|features\.json|label_map\.(pbtxt|csv)|schema\.pbtxt"
        rf"|report\.(html|json)|statistics\.json|croissant\.json|build\.json|{re.escape(metadata.FILE)}|(failed-)?{re.escape(REJECTS_FILE)}"
        r"|.*\.[0-9a-f]{32}\.partial"  # its writer was killed
    )
    return folder in FOLDERS and re.fullmatch(build_file, name) is not None


def is_committed(
    config: BuildConfig, files: Mapping[str, TemporaryFile], metadata_text: str
) -> bool:
    """Whether an earlier attempt at the same job has committed and begun its cleanup.

    Raises:
        BeamTFRecordsError: Another build has written another dataset in the meantime.
    """
    path = storage.join(config.dataset_dir, metadata.FILE)
    if not storage.exists(path):
        return False
    same = storage.read_text(path) == metadata_text
    if not config.overwrite:  # none existed when this build began
        if same:
            return True
        raise made_meanwhile(config)
    if not same:
        return False
    paths = [file.path for file in files.values()]
    return None in storage.sizes(paths) or not storage.is_directory(working_dir(config))
