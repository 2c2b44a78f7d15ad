"""Diff: compare the records of two datasets by index key, and the facts in metadata.json."""

import contextlib
import dataclasses
import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline import kinds
from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shards import FileProblemError, problem, read_frames, stated_bytes
from beam_pipeline.describe.index import column, rows_file
from beam_pipeline.errors import BeamTFRecordsError, DatasetDamagedError
from beam_pipeline.files import storage
from beam_pipeline.running.job import watched
from beam_pipeline.running.progress import Meter
from tfrecord_dataset.format.example import features_of
from tfrecord_dataset.format.feature_keys import list_specs
from tfrecord_dataset.format.metadata import ShardEntry
from tfrecord_dataset.shown_text import short_repr

CHANGES = ("added", "removed", "content", "annotation", "moved")
_EXAMPLES = 5
_DIGEST_BYTES = 16
_CACHE_KIB = 64 << 10
_BOTH = "FROM old JOIN new USING (key) WHERE"
_QUERIES = {
    "added": "SELECT new.split, key FROM new LEFT JOIN old USING (key) WHERE old.key IS NULL",
    "removed": "SELECT old.split, key FROM old LEFT JOIN new USING (key) WHERE new.key IS NULL",
    "content": f"SELECT new.split, key {_BOTH} old.content != new.content",
    "annotation": f"SELECT new.split, key {_BOTH} old.annotation != new.annotation",
    "moved": f"SELECT old.split || ' to ' || new.split, key {_BOTH} old.split != new.split",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Differences between two datasets; false if there are none.

    Attributes:
        num_records: Old and new number of records, by split.
        added, removed: Number of records with a key only in the new or the old dataset, by split.
        content: Records with different images, audio or arrays, by their new split.
        annotation: Records that differ otherwise (ignoring `image/source_id`), by their new split.
        moved: Records in another split, by "old to new".
        examples: The first keys of each.
        features, options: Old and new value, by name and field such as `label.classes`.
    """

    old: str
    new: str
    num_records: Mapping[str, tuple[int, int]]
    added: Mapping[str, int]
    removed: Mapping[str, int]
    content: Mapping[str, int]
    annotation: Mapping[str, int]
    moved: Mapping[str, int]
    examples: Mapping[str, tuple[str, ...]]
    features: Mapping[str, tuple[Any, Any]]
    options: Mapping[str, tuple[Any, Any]]

    def __repr__(self) -> str:
        return short_repr(self)

    def __bool__(self) -> bool:
        return any((*(getattr(self, name) for name in CHANGES), self.features, self.options))


def diff(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Difference:
    """Compare two datasets record by record, local or on a store.

    Pairs records by the keys of their index: the file name for a built dataset, file and number for
    existing Examples. Shards with equal hashes are not read. Memory does not grow with the
    datasets; TMPDIR needs about a hundred bytes of disk per record.

        >>> difference = beam_pipeline.diff("data/cells", "data/cells")
        >>> bool(difference), difference.content
        (False, {})

    Raises:
        ConfigError: A directory is not a dataset.
        DatasetDamagedError: A record or an index cannot be read.
        DatasetChangedError: A dataset was rebuilt during the comparison.
    """
    infos = open_dataset(old), open_dataset(new)
    shards = [*map(_shards, infos)]
    same = shards[0].keys() & shards[1].keys()
    with watched(PipelineOptions([])) as job, contextlib.closing(sqlite3.connect("")) as database:
        for table, info, by_facts in zip(("old", "new"), infos, shards, strict=True):
            differing = [by_facts[facts] for facts in by_facts if facts not in same]
            meter = Meter(job.progress_dir, "diff")
            with _disk():
                _fill(database, table, _rows(info, differing, meter))
        with _disk():
            numbers = {name: _counted(database, query) for name, query in _QUERIES.items()}
    for info in infos:
        check_unchanged(info)
    before, after = infos
    return Difference(
        old=before.path,
        new=after.path,
        num_records={
            split: (_num_records(before, split), _num_records(after, split))
            for split in sorted({*before.splits, *after.splits})
        },
        **{name: counts for name, (counts, _) in numbers.items()},
        examples={name: keys for name, (_, keys) in numbers.items() if keys},
        features=_differing(*(_features(info) for info in infos)),
        options=_differing(*(_options(info) for info in infos)),
    )


def _shards(info: Dataset) -> dict[tuple[str, str, str], tuple[str, ShardEntry]]:
    """Return (split, shard) by facts that are equal in both datasets if their records are."""
    examples = {}
    for split, shards in info.splits.items():
        for shard in shards:
            index = info.files.get(rows_file(shard.file))
            content = shard.sha256 or storage.join(info.path, shard.file)
            examples[split, content, index.sha256 if index else ""] = split, shard
    return examples


def _rows(
    info: Dataset, shards: Iterable[tuple[str, ShardEntry]], meter: Meter
) -> Iterator[tuple[str, str, bytes, bytes]]:
    """Yield (key, split, digest of the content, digest of the annotation) of each record."""
    content, ids = _content_keys(info), _id_keys(info)
    for split, shard in shards:
        path = storage.join(info.path, shard.file)
        keys = _index_keys(info, shard.file)
        for number, frame in enumerate(read_frames(path, info.compressed)):
            digests = [hashlib.blake2b(digest_size=_DIGEST_BYTES) for _ in range(2)]
            try:
                features = features_of(frame.payload)
            except ValueError as error:
                raise DatasetDamagedError(f"{path}: record {number}: {error}") from error
            for name in sorted(features.keys() - ids):
                value = features[name].SerializeToString()
                start = f"{len(name)} {len(value)} {name}".encode()
                digests[name not in content].update(start + value)
            key = next(keys, None)
            if key is None:
                raise _damaged_index(info, shard.file, "it has fewer rows than its shard")
            yield key, split, digests[0].digest(), digests[1].digest()
            meter.add(1)
        if next(keys, None) is not None:
            raise _damaged_index(info, shard.file, "it has more rows than its shard")
    meter.beat()


def _content_keys(info: Dataset) -> frozenset[str]:
    """Keys of the Example for features with a content hash in the index."""
    hashed = (each for each in info.schema if "sha256" in kinds.named(each).fact_types(each))
    return frozenset(key for feature in hashed for key in list_specs(feature))


def _id_keys(info: Dataset) -> frozenset[str]:
    """Keys of the Example for ids, which a build may have numbered itself."""
    if info.holds_existing_examples:
        return frozenset()
    images = (feature for feature in info.schema if feature.kind == "image" and not feature.bare)
    return frozenset(image.subkey("source_id") for image in images)


def _index_keys(info: Dataset, shard: str) -> Iterator[str]:
    path = rows_file(shard)
    try:
        return column(stated_bytes(info.path, path, info.files.get(path)), "key")
    except (FileProblemError, pyarrow.ArrowException, OSError) as error:
        raise _damaged_index(info, shard, str(error)) from error


def _damaged_index(info: Dataset, shard: str, cause: str) -> DatasetDamagedError:
    return DatasetDamagedError(f"{info.path}: {problem(rows_file(shard), cause)}")


def _fill(database: sqlite3.Connection, table: str, rows: Iterator[Any]) -> None:
    for pragma in ("journal_mode = OFF", "temp_store = FILE", f"cache_size = -{_CACHE_KIB}"):
        database.execute(f"PRAGMA {pragma}")
    columns = "key TEXT PRIMARY KEY, split TEXT, content BLOB, annotation BLOB"
    database.execute(f"CREATE TABLE {table} ({columns}) WITHOUT ROWID")
    database.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", rows)


def _counted(database: sqlite3.Connection, query: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """Count a query's records by split, and return the first keys."""
    counts: Counter[str] = Counter()
    examples: list[str] = []
    for split, key in database.execute(f"{query} ORDER BY key"):
        counts[split] += 1
        if len(examples) < _EXAMPLES:
            examples.append(key)
    return dict(sorted(counts.items())), tuple(examples)


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise BeamTFRecordsError(
            f"cannot keep the table of records: {error}; free some space, or set TMPDIR to a "
            "larger disk"
        ) from error


def _num_records(info: Dataset, split: str) -> int:
    return info.num_records(split) if split in info.splits else 0


def _features(info: Dataset) -> dict[str, Any]:
    return _flat({feature.name: feature.to_json() for feature in info.schema})


def _options(info: Dataset) -> dict[str, Any]:
    """Return the options that determine a build's output."""
    options = info.metadata["config"]
    return _flat({name: options[name] for name in options.keys() - {"name", "version"}})


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten nested mappings to dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[above + name] = value
    return flat


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the values that differ; a missing or empty one is None."""
    both = {name: (old.get(name) or None, new.get(name) or None) for name in {*old, *new}}
    return {name: both[name] for name in sorted(both) if both[name][0] != both[name][1]}
