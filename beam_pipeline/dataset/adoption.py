"""Adopt: describe existing TFRecord shards without changing them."""

import contextlib
import functools
import itertools
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.assign.dataset_plan import declared_classes
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig, default_name
from beam_pipeline.dataset.opening import Dataset, check_readable, is_dataset
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shard_inspection import ShardInspection, inspect_shard, write_index
from beam_pipeline.dataset.shard_workers import shard_workers
from beam_pipeline.describe import croissant, index, metadata, tfds
from beam_pipeline.describe.tfds import TfdsInfo, read_class_names, template_of
from beam_pipeline.errors import ConfigError, DataError, DatasetDamagedError, DatasetExistsError
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.inspect.stored_example import expectations
from beam_pipeline.problems import leaving_out
from beam_pipeline.records import FileRef
from beam_pipeline.running.locked_folders import locked
from beam_pipeline.schema.conformance import check_names
from beam_pipeline.schema.inference import complete, infer
from beam_pipeline.sources.paths import name_of
from beam_pipeline.sources.tfrecord.read_tfrecords import first_records, with_key_of
from beam_pipeline.sources.tfrecord.record_files import RecordFile, find_shards, tfds_name
from tfrecord_dataset import durable
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import VERSION, FileEntry, ShardEntry, named_path
from tfrecord_dataset.format.split_names import check_all_shards
from tfrecord_dataset.shown_text import counted

# Problems named in an error; all are counted.
_PROBLEMS_NAMED = 10


def adopt(
    path: str | os.PathLike[str],
    *,
    schema: tuple[Feature, ...] = (),
    classes: tuple[str, ...] = (),
    name: str = "",
    version: str = "",
    allow_missing_shards: bool = False,
    overwrite: bool = False,
    options: PipelineOptions | None = None,
) -> Dataset:
    """Make the TFRecord files of a directory a dataset by describing them; reads all of them.

    Writes metadata.json (last), the index, and the files for TFDS into the directory. The TFRecord
    files are neither written nor renamed, and other files stay untouched.

        >>> beam_pipeline.adopt("others")
        <Dataset /.../others: 6 in test, 24 in train>

    Args:
        path: Folder of the files, also in subfolders.
        schema: Schema of the records; inferred from all of them if empty.
        classes: Class names in order, for the only class label.
        name, version: Default: from TFDS's files, the file names or the directory's name.
        allow_missing_shards: Whether files may be missing from a numbering such as
            `train-00000-of-00010`.
        overwrite: Whether to replace an older description.
        options: Beam's options, whose runner reads the files; the default is this process.

    Raises:
        ConfigError: The directory has no such files or is not writable, or an argument does not
            fit the files.
        DatasetExistsError: The directory is already a dataset.
        DataError: A file, a record or an Example is damaged, or inconsistent with the others;
            nothing was written.
        DatasetDamagedError: Files are missing from a numbering.
        BeamTFRecordsError: The job failed.
    """
    directory = storage.absolute(named_path(path))
    if is_dataset(directory) and not overwrite:
        raise DatasetExistsError(
            f"{directory} already has a {metadata.FILE}; pass --overwrite to replace it"
        )
    tfds_info = TfdsInfo.read(directory)
    files = find_shards(directory)
    if not allow_missing_shards:
        check_all_shards(file.relative for file in files)
    if not (storage.is_remote(directory) or os.access(directory, os.W_OK)):  # before the long read
        raise ConfigError(
            f"{directory} is not writable; change its permissions, or build a dataset "
            "from the files"
        )
    _check_places(directory, (file.relative for file in files))
    expected = expectations(first_records(files))
    config = BuildConfig(
        name=name or _name(directory, files, tfds_info),
        version=version or _version(directory, tfds_info),
        schema=tuple(with_key_of(feature, expected) for feature in schema),
    )
    with (
        locked(directory, lock=directory),
        shard_workers(
            options or PipelineOptions([]),
            f"adopt-{config.name}",
            directory,
            storage.join(directory, ".adopt"),
        ) as workers,
    ):
        paths = [file.path for file in files]
        inspect = functools.partial(
            inspect_shard,
            rules=config.rules,
            expected=expected,
            progress_dir=workers.progress_dir,
            values=workers.values,
        )
        inspections = workers.map(inspect, files, paths)
        _check(directory, inspections)
        features = _schema(directory, config, inspections, classes)
        splits = _splits(files, inspections)
        if tfds_info:
            tfds_info.check(splits)
        compressed = files[0].compressed
        texts = {} if tfds_info else _texts(config, features, splits, compressed)
        describe = functools.partial(
            metadata.adoption_metadata,
            config,
            features,
            sum((inspection.notes for inspection in inspections), Counter()),
            splits,
            compressed=compressed,
        )
        check_readable(directory, {**texts, metadata.FILE: describe({})})
        _delete_description(directory)
        _delete_unfinished(directory, files, [*texts, croissant.FILE])
        write = functools.partial(
            write_index, schema=features, directory=directory, values=workers.values
        )
        indices = workers.map(write, files, paths)
        entries: dict[str, FileEntry] = {}
        for index_entries in indices:
            entries |= index_entries
        if _may_write_croissant(directory):
            texts[croissant.FILE] = croissant.croissant(config, features, splits, entries)
        entries |= {file: FileEntry.of(text.encode()) for file, text in texts.items()}
        texts[metadata.FILE] = describe(entries)
        for file, text in texts.items():  # metadata.json comes last
            storage.write_bytes(storage.join(directory, file), text.encode(), durable=True)
    return open_dataset(directory)


def _name(directory: str, files: Sequence[RecordFile], tfds_info: TfdsInfo | None) -> str:
    if tfds_info:
        return tfds_info.name
    return tfds_name([file.relative for file in files]) or default_name(directory)


def _version(directory: str, tfds_info: TfdsInfo | None) -> str:
    if tfds_info and tfds_info.version:
        return tfds_info.version
    return name_of(directory) if VERSION.fullmatch(name_of(directory)) else "1.0.0"


def _check(directory: str, inspections: Sequence[ShardInspection]) -> None:
    """Raise DataError if there are problems or no records."""
    count = sum(inspection.num_problems for inspection in inspections)
    if count:
        problems = [problem for inspection in inspections for problem in inspection.problems]
        named = problems[:_PROBLEMS_NAMED]
        more = f"; and {count - len(named)} more" if count > len(named) else ""
        records = sum(inspection.num_records for inspection in inspections)
        option = leaving_out(count, count + records)
        remedy = f", or run build {shlex.quote(directory)} {option}" if option else ""
        raise DataError(
            f"nothing was written: {directory} has {counted(count, 'problem')}: "
            f"{'; '.join(named)}{more}. Fix the files{remedy}"
        )
    if not any(inspection.num_records for inspection in inspections):
        raise DataError(f"the TFRecord files in {directory} have no records; nothing was written")


def _schema(
    directory: str,
    config: BuildConfig,
    inspections: Sequence[ShardInspection],
    classes: tuple[str, ...],
) -> tuple[Feature, ...]:
    statistics = Statistics(num_records=sum(inspection.num_records for inspection in inspections))
    for inspection in inspections:
        statistics.merge(Statistics(values={"": inspection.features}))
    observed = statistics.features()
    names = read_class_names(directory, observed)
    names |= declared_classes(statistics, classes, config.schema)
    features = (
        complete(config.schema, observed, names)
        if config.schema
        else infer(observed, num_records=statistics.num_records, declared=names)
    )
    check_names(features)
    return features


def _splits(
    shards: Sequence[RecordFile], inspections: Sequence[ShardInspection]
) -> dict[str, list[ShardEntry]]:
    """Sort the shards by split, splits by name."""
    splits: dict[str, list[ShardEntry]] = {}
    for shard, inspection in zip(shards, inspections, strict=True):
        splits.setdefault(shard.split or "train", []).append(
            ShardEntry(
                file=shard.relative,
                num_records=inspection.num_records,
                num_bytes=inspection.num_bytes,
                sha256=inspection.sha256,
            )
        )
    return dict(sorted(splits.items()))


def _texts(
    config: BuildConfig,
    schema: tuple[Feature, ...],
    splits: Mapping[str, Sequence[ShardEntry]],
    compressed: bool,
) -> dict[str, str]:
    """Render the files for TFDS, as far as it can read the shards."""
    templates = {
        split: template_of([info.file for info in infos]) for split, infos in splits.items()
    }
    reads_shards = not compressed and all(templates.values())
    return tfds.texts(
        config.name, config.version, schema, splits, templates=templates, reads_shards=reads_shards
    )


def _may_write_croissant(directory: str) -> bool:
    """Whether writing croissant.json would not replace a user's file."""
    path = storage.join(directory, croissant.FILE)
    return not storage.exists(path) or croissant.is_ours(storage.read_bytes(FileRef(path=path)))


def _check_places(directory: str, shards: Iterable[str]) -> None:
    """Raise ConfigError if a link would redirect writes or deletes of the index."""
    if storage.is_remote(directory):
        return
    root = os.path.realpath(directory)
    files = (os.path.join(root, file) for shard in shards for file in index.files(shard))
    for folder in {os.path.dirname(file) for file in files}:
        if os.path.realpath(folder) != folder:
            raise ConfigError(
                f"{folder} is a link, but the index is written there; replace it with a folder, "
                "or build a dataset from the files"
            )


def _delete_unfinished(directory: str, shards: Sequence[RecordFile], texts: Iterable[str]) -> None:
    """Delete partial files of killed adoptions."""
    if not storage.is_remote(directory):
        files = [
            *texts,
            metadata.FILE,
            *(file for shard in shards for file in index.files(shard.relative)),
        ]
        LOCAL.delete_unfinished({storage.join(directory, file) for file in files})


def _delete_description(directory: str) -> None:
    """Delete an older metadata.json with its index, which may describe missing shards."""
    path = storage.join(directory, metadata.FILE)
    if not storage.exists(path):
        return
    shards: list[ShardEntry] = []
    with contextlib.suppress(DatasetDamagedError):
        shards += itertools.chain.from_iterable(open_dataset(directory).splits.values())
    _check_places(directory, (shard.file for shard in shards))
    storage.delete([path])
    if not storage.is_remote(directory):
        durable.sync(directory)  # before anything it describes changes
    storage.delete_all(
        storage.join(directory, file) for shard in shards for file in index.files(shard.file)
    )
