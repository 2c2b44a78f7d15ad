"""Adopt: shards that others wrote get a description beside them, and stay as they are."""

import contextlib
import functools
import itertools
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.assign.census import Census, declared_classes
from beam_pipeline.config import BuildConfig, default_name
from beam_pipeline.dataset.opening import DatasetInfo, is_dataset, open_dataset
from beam_pipeline.dataset.survey import ShardFile, Survey, survey, write_index
from beam_pipeline.dataset.tfds_own import TfdsInfo, class_names
from beam_pipeline.describe import metadata, tfds
from beam_pipeline.describe.shard_info import ShardEntry
from beam_pipeline.describe.shard_names import template_of
from beam_pipeline.errors import ConfigError, DataError, DatasetDamagedError, DatasetExistsError
from beam_pipeline.files import storage
from beam_pipeline.inspect.stored_example import expectations
from beam_pipeline.running.job import exclusive, watched
from beam_pipeline.running.parallel import ahead_in_processes, map_threads
from beam_pipeline.running.runner import LocalJob
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.inference import complete, infer
from beam_pipeline.schema.observation import Observed
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.tfrecord.declared import with_key_of
from beam_pipeline.sources.tfrecord.files import RecordFile, find_shards, tfds_name
from beam_pipeline.sources.tfrecord.read import first_records

_R = TypeVar("_R")

_VERSION = re.compile(r"\d+\.\d+\.\d+")
# So many problems are told by name; all are counted.
_TOLD = 10
_REMOTE_FILES_AT_ONCE = 16
# Below this, processes take longer to start than they save.
_FEW_BYTES = 8 << 20


def adopt(
    directory: str,
    *,
    schema: tuple[Feature, ...] = (),
    classes: tuple[str, ...] = (),
    name: str = "",
    version: str = "",
    overwrite: bool = False,
) -> DatasetInfo:
    """Describes the TFRecord files of a directory, so that they are a dataset; all are read.

    metadata.json, which is written last, the index, and what TFDS needs go beside the files,
    which are neither written nor renamed. Nothing else in the directory is touched.

    Args:
        directory: Where the files lie, also in folders below.
        schema: What the records hold; empty finds out by looking at all of them.
        classes: The class names in order, of the one class label.
        name: The dataset's name. Default: as TFDS's files or the files' names state, else the
            directory's.
        version: Its version. Default: as TFDS's files or the directory's name state, else 1.0.0.
        overwrite: Whether an older description is replaced.

    Raises:
        ConfigError: There are no such files, nothing can be written beside them, or an argument
            does not fit them.
        DatasetExistsError: The directory is a dataset already.
        DataError: A file, a record or an Example is damaged, or does not go with the others;
            then nothing is written.
    """
    directory = storage.absolute(directory)
    if is_dataset(directory) and not overwrite:
        raise DatasetExistsError(
            f"{directory} has a {metadata.FILE} already; pass --overwrite to write it again"
        )
    theirs = TfdsInfo.read(directory)
    files = find_shards(directory)
    if not (storage.is_remote(directory) or os.access(directory, os.W_OK)):  # before all is read
        raise ConfigError(
            f"{directory} cannot be written to; allow it, or build a dataset from the files"
        )
    expected = expectations(first_records(files))
    config = BuildConfig(
        name=name or _name(directory, files, theirs),
        version=version or _version(directory, theirs),
        schema=tuple(with_key_of(feature, expected) for feature in schema),
    )
    with (
        exclusive(directory),
        watched(PipelineOptions([])) as local,
        tempfile.TemporaryDirectory(prefix="beam-tfrecords-adopt-") as folder,
    ):
        shards = [
            ShardFile(
                path=file.path,
                file=file.relative,
                split=file.split or "train",
                compressed=file.compressed,
                rows=f"{folder}/{number}",
            )
            for number, file in enumerate(files)
        ]
        look = functools.partial(
            survey, rules=config.rules, expected=expected, progress_dir=local.progress_dir
        )
        surveys = _share_out(look, shards, local)
        _check(directory, surveys)
        features = _schema(directory, config, surveys, classes)
        splits = _splits(shards, surveys)
        if theirs:
            theirs.check(splits)
        compressed = shards[0].compressed
        texts = {} if theirs else _texts(config, features, splits, compressed)
        _take_back(directory)
        index = functools.partial(write_index, schema=features, directory=directory)
        _share_out(index, shards, local)
    notes: Counter[str] = sum((survey.notes for survey in surveys), Counter())
    described = metadata.adopted(config, features, notes, splits, compressed=compressed)
    texts[metadata.FILE] = metadata.to_text(described)
    for file, text in texts.items():  # metadata.json is the last
        storage.write_bytes(storage.join(directory, file), text.encode())
    return open_dataset(directory)


def _name(directory: str, files: Sequence[RecordFile], theirs: TfdsInfo | None) -> str:
    if theirs:
        return theirs.name
    above = parent(directory) if _VERSION.fullmatch(name_of(directory)) else directory
    return tfds_name([file.relative for file in files]) or default_name(above)


def _version(directory: str, theirs: TfdsInfo | None) -> str:
    if theirs and theirs.version:
        return theirs.version
    return name_of(directory) if _VERSION.fullmatch(name_of(directory)) else "1.0.0"


def _share_out(
    function: Callable[[ShardFile], _R], shards: Sequence[ShardFile], local: LocalJob
) -> list[_R]:
    """`function` of every shard, several at once where that pays."""
    if any(storage.is_remote(shard.path) for shard in shards):
        return list(map_threads(function, shards, _REMOTE_FILES_AT_ONCE))
    if sum(os.path.getsize(shard.path) for shard in shards) < _FEW_BYTES:
        return list(map(function, shards))
    return list(ahead_in_processes(max(1, local.processes)).map(function, shards))


def _check(directory: str, surveys: Sequence[Survey]) -> None:
    """Raises DataError where something is wrong, or nothing is there."""
    count = sum(survey.num_problems for survey in surveys)
    if count:
        told = [problem for survey in surveys for problem in survey.problems][:_TOLD]
        more = f"; and {count - len(told)} more" if count > len(told) else ""
        raise DataError(
            f"nothing was written: {directory} has {count} record{'' if count == 1 else 's'} or "
            f"file{'' if count == 1 else 's'} that cannot be used: "
            f"{'; '.join(told)}{more}. Mend the files, or build a dataset from what is sound in "
            "them with --max-bad-fraction"
        )
    if not any(survey.num_records for survey in surveys):
        raise DataError(f"the TFRecord files in {directory} have no records; nothing was written")


def _schema(
    directory: str, config: BuildConfig, surveys: Sequence[Survey], classes: tuple[str, ...]
) -> tuple[Feature, ...]:
    census = Census(num_records=sum(survey.num_records for survey in surveys))
    for found in surveys:
        for name, observed in found.observed.items():
            census.observed.setdefault(name, Observed()).merge(observed)
    names = class_names(directory, census.observed)
    names |= declared_classes(census, classes, config.schema)
    if config.schema:
        return complete(config.schema, census.observed, names)
    return infer(census.observed, num_records=census.num_records, declared=names)


def _splits(shards: Sequence[ShardFile], surveys: Sequence[Survey]) -> dict[str, list[ShardEntry]]:
    """The shards of every split, splits in the order of their names."""
    splits: dict[str, list[ShardEntry]] = {split: [] for split in sorted({s.split for s in shards})}
    for shard, found in zip(shards, surveys, strict=True):
        splits[shard.split].append(
            ShardEntry(
                file=shard.file,
                num_records=found.num_records,
                num_bytes=found.num_bytes,
                sha256=found.sha256,
            )
        )
    return splits


def _texts(
    config: BuildConfig,
    schema: tuple[Feature, ...],
    splits: Mapping[str, Sequence[ShardEntry]],
    compressed: bool,
) -> dict[str, str]:
    """The files for TFDS, as far as it can read the shards."""
    texts = tfds.class_names(schema)
    templates = {
        split: template_of([info.file for info in infos]) for split, infos in splits.items()
    }
    if not compressed and all(templates.values()):
        texts["dataset_info.json"] = tfds.dataset_info(
            config.name, config.version, splits, templates
        )
        texts["features.json"] = tfds.features(schema)
    return texts


def _take_back(directory: str) -> None:
    """Takes an older description back, with the index of shards that are gone."""
    path = storage.join(directory, metadata.FILE)
    if not storage.exists(path):
        return
    with contextlib.suppress(DatasetDamagedError):
        shards = itertools.chain.from_iterable(open_dataset(directory).splits.values())
        storage.delete(
            storage.join(directory, "index", f"{shard.file}{suffix}")
            for shard in shards
            for suffix in (".parquet", ".idx")
        )
    storage.delete([path])
