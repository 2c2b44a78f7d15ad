"""Commit: counts are held against each other, files get their final names, metadata.json last."""

import dataclasses
import json
import platform
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence

import apache_beam as beam

from beam_pipeline.assign.census import Plan
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import class_names, metadata, tfds
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import ConfigError, CountMismatchError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected, reading_order, unpack
from beam_pipeline.write.receipts import working_dir
from beam_pipeline.write.sink import split_sink

REJECTS_FILE = "rejects.jsonl"
# Of a build that failed where a finished dataset is.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"
BUILD_FILE = "build.json"


@dataclasses.dataclass
class Commit(beam.PTransform):
    """ShardInfos to the committed dataset; yields its directory once it is.

    Raises while running: the plan's problem, after rejects.jsonl is written;
    CountMismatchError where a record went missing or came twice.
    """

    config: BuildConfig
    plan: beam.PCollection[Plan]
    rejected: beam.PCollection[tuple[str, bytes]]
    num_read: beam.PCollection[int]

    def expand(self, shards: beam.PCollection[ShardInfo]) -> beam.PCollection[str]:
        return (
            shards.pipeline
            | "Once" >> beam.Create([self.config])
            | "CommitOnce"
            >> beam.Map(
                commit,
                plan=beam.pvalue.AsSingleton(self.plan),
                shards=beam.pvalue.AsList(shards),
                rejected=beam.pvalue.AsIter(self.rejected),
                num_read=beam.pvalue.AsSingleton(self.num_read),
            )
        )


def commit(
    config: BuildConfig,
    plan: Plan,
    shards: Sequence[ShardInfo],
    rejected: Iterable[tuple[str, bytes]],
    num_read: int,
) -> str:
    """Makes the written shards a dataset; running it again after it was cut off is safe.

    Returns:
        The dataset's directory.

    Raises:
        BeamTFRecordsError: The plan's problem; rejects.jsonl is written before.
        CountMismatchError: What was read is not what was written and rejected.
    """
    rejects = _rejects(rejected)
    if isinstance(plan.problem, ConfigError):  # the data is not to blame
        raise plan.problem
    if plan.problem:
        finished = storage.exists(storage.join(config.dataset_dir, metadata.FILE))
        name = FAILED_REJECTS_FILE if finished else REJECTS_FILE
        _write_rejects(storage.join(config.dataset_dir, name), rejects)
        raise plan.problem
    check_counts(plan, shards, len(rejects), num_read)
    by_split = {
        split: sorted((info for info in shards if info.split == split), key=lambda info: info.shard)
        for split in plan.splits
    }
    texts = _described(config, plan, by_split)
    final = {path for info in shards for path in info.temporary} | set(texts)
    _clear(config, keep=final)
    for split, infos in by_split.items():
        _finalise(config, split, infos)
    _write_rejects(storage.join(config.dataset_dir, REJECTS_FILE), rejects)
    for name, text in texts.items():
        storage.write_bytes(storage.join(config.dataset_dir, name), text.encode())
    storage.write_bytes(
        storage.join(config.dataset_dir, metadata.FILE),
        metadata.to_text(metadata.metadata(config, plan, by_split)).encode(),
    )
    storage.delete(
        storage.join(config.dataset_dir, name)
        for name in storage.list_dir(config.dataset_dir)
        if name.startswith(".building-")
    )
    return config.dataset_dir


def _rejects(packed: Iterable[tuple[str, bytes]]) -> list[Rejected]:
    found = (each for _, batch in packed for each in unpack(batch) if isinstance(each, Rejected))
    return sorted(found, key=_order)


def _order(rejected: Rejected) -> tuple[str, ...]:
    source = rejected.source
    return reading_order(source), source, rejected.reason, rejected.detail


def _write_rejects(path: str, rejects: Iterable[Rejected]) -> None:
    lines = (
        json.dumps(
            {"source": each.source, "reason": each.reason, "detail": each.detail},
            ensure_ascii=False,
        )
        for each in rejects
    )
    storage.write_bytes(path, "".join(f"{line}\n" for line in lines).encode(errors="replace"))


def check_counts(plan: Plan, shards: Sequence[ShardInfo], num_rejected: int, num_read: int) -> None:
    """Holds the number of records read against those written and rejected.

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


def _described(
    config: BuildConfig, plan: Plan, shards: dict[str, list[ShardInfo]]
) -> dict[str, str]:
    """The texts that describe the dataset, but for metadata.json, by file name."""
    texts = class_names.texts(plan.schema)
    if config.compression == "none":  # TFDS cannot read gzip
        texts["dataset_info.json"] = tfds.dataset_info(config.name, config.version, shards)
        texts["features.json"] = tfds.features(plan.schema)
    texts[BUILD_FILE] = metadata.to_text(_circumstances(config))
    return texts


def _circumstances(config: BuildConfig) -> dict[str, object]:
    """What says when, where and from what the dataset was made: kept out of all other files."""
    return {
        "input": config.input,
        "image_root": config.image_root,
        "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": platform.node(),
        "python": platform.python_version(),
        "apache_beam": beam.version.__version__,
    }


def _clear(config: BuildConfig, keep: set[str]) -> None:
    """Takes back the commit of an earlier build, and deletes what it wrote and this does not."""
    root = config.dataset_dir
    storage.delete([storage.join(root, metadata.FILE)])
    ours = re.compile(
        rf"{re.escape(config.name)}-\w+\.tfrecord-\d{{5}}-of-\d{{5}}(\.parquet|\.idx)?"
        r"|.*\.labels\.txt|dataset_info\.json|features\.json|label_map\.pbtxt"
        rf"|(failed-)?{re.escape(REJECTS_FILE)}"
        r"|.*\.[0-9a-f]{32}\.partial"  # its writer was killed
    )
    stale = [
        path
        for folder in ("", "index/")
        for name in storage.list_dir(storage.join(root, folder))
        if ours.fullmatch(name) and (path := folder + name) not in keep
    ]
    storage.delete(storage.join(root, path) for path in stale)


def _finalise(config: BuildConfig, split: str, shards: Sequence[ShardInfo]) -> None:
    """Renames a split's files; Beam's sink names the shards.

    The sink takes two files of one size for the same file, so what an earlier build left
    under a shard's name has to go first; unless the shard has been renamed already.
    """
    root = config.dataset_dir
    for info in shards:
        for final, temporary in info.temporary.items():
            if final != info.file:
                storage.move(temporary.path, storage.join(root, final))
            elif storage.exists(temporary.path):
                storage.delete([storage.join(root, final)])
    written = [info.temporary[info.file].path for info in shards]
    folder = storage.join(working_dir(config), split)
    for _ in split_sink(config, split).finalize_write(folder, written, None):
        pass
