"""Diff: compare the records of two datasets by index key, and the facts in metadata.json."""

import contextlib
import dataclasses
import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.dataset import opening
from beam_pipeline.dataset.shards import FileProblemError, problem, read_frames, stated_bytes
from beam_pipeline.describe.index import column, rows_file
from beam_pipeline.errors import BeamTFRecordsError, DatasetDamagedError
from beam_pipeline.files import storage
from beam_pipeline.running.job import watched
from beam_pipeline.running.progress import Meter
from tfrecord_dataset.format.example import features_of

_EXAMPLES = 5
_TABLE = """PRAGMA journal_mode = OFF; PRAGMA cache_size = -65536;
CREATE TABLE old (key PRIMARY KEY, split, digest) WITHOUT ROWID"""
_TAKE = "DELETE FROM old WHERE key = ? RETURNING split, digest"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Differences between two datasets; false if there are none.

    Attributes:
        num_records: Old and new number of records, by split.
        records: Number of records by change and split: "added" and "removed" keys, "changed"
            values (ignoring `image/source_id`), and "moved" to another split, as "old to new".
        examples: The first keys of each change.
        features, options: Old and new value, by name and field such as `label.classes`.
    """

    num_records: Mapping[str, tuple[int, ...]]
    records: Mapping[str, Mapping[str, int]]
    examples: Mapping[str, tuple[str, ...]]
    features: Mapping[str, tuple[Any, Any]]
    options: Mapping[str, tuple[Any, Any]]

    def __bool__(self) -> bool:
        return any((self.records, self.features, self.options))


def diff(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Difference:
    """Compare two datasets record by record, by the keys of their index.

    Shards with equal hashes are not read; TMPDIR needs about a hundred bytes per record.

        >>> difference = beam_pipeline.diff("data/cells", "data/cells")
        >>> bool(difference), difference.records
        (False, {})

    Raises:
        ConfigError: A directory is not a dataset.
        DatasetDamagedError: A record or an index cannot be read.
        DatasetChangedError: A dataset was rebuilt during the comparison.
    """
    infos = before, after = opening.open(old), opening.open(new)
    counts = {name: Counter[str]() for name in ("added", "removed", "changed", "moved")}
    first: dict[str, list[str]] = {name: [] for name in counts}
    for change, split, key in _changes(before, after):
        counts[change][split] += 1
        first[change] = sorted([*first[change], key])[:_EXAMPLES]
    for info in infos:
        opening.check_unchanged(info)
    splits = sorted({*before.splits, *after.splits})
    sizes = [{name: info.num_records(name) for name in info.splits} for info in infos]
    schemas = ({each.name: each.to_json() for each in info.schema} for info in infos)
    options = (info.metadata["config"] | {"name": "", "version": ""} for info in infos)
    return Difference(
        num_records={name: tuple(each.get(name, 0) for each in sizes) for name in splits},
        records={name: dict(sorted(counts[name].items())) for name in counts if counts[name]},
        examples={name: tuple(keys) for name, keys in first.items() if keys},
        features=_differing("", *schemas),
        options=_differing("", *options),
    )


def _changes(before: opening.Dataset, after: opening.Dataset) -> Iterator[tuple[str, str, str]]:
    """Yield (change, split, key); the old records wait in a file without a name below TMPDIR."""
    with watched(PipelineOptions([])) as job, contextlib.closing(sqlite3.connect("")) as table:
        meter = Meter(job.progress_dir, "diff")
        try:
            table.executescript(_TABLE)
            rows = _rows(before, after, meter)
            table.executemany("INSERT OR REPLACE INTO old VALUES (?, ?, ?)", rows)
            for key, split, digest in _rows(after, before, meter):
                old_split, old_digest = table.execute(_TAKE, (key,)).fetchone() or ("", digest)
                if old_split != split:
                    moved = "moved", f"{old_split} to {split}", key
                    yield moved if old_split else ("added", split, key)
                if old_digest != digest:
                    yield "changed", split, key
            yield from table.execute("SELECT 'removed', split, key FROM old")
        except sqlite3.OperationalError as error:
            why = "free some space, or set TMPDIR to a larger disk"
            raise BeamTFRecordsError(f"cannot keep the table of records: {error}; {why}") from error


def _rows(
    info: opening.Dataset, other: opening.Dataset, meter: Meter
) -> Iterator[tuple[str, str, bytes]]:
    """Yield (key, split, digest) of each record in a shard that the other dataset lacks."""
    images = (each for each in info.schema if each.kind == "image" and not each.bare)
    # A build may have numbered these itself.
    ids = set() if info.holds_existing_examples else {each.subkey("source_id") for each in images}
    known = {(split, each.sha256) for split, shards in other.splits.items() for each in shards}
    for split, shard in ((split, each) for split, some in info.splits.items() for each in some):
        if shard.sha256 and (split, shard.sha256) in known:
            continue
        index = rows_file(shard.file)
        frames = read_frames(storage.join(info.path, shard.file), info.compressed)
        try:
            keys = column(stated_bytes(info.path, index, info.files.get(index)), "key")
            for key, frame in zip(keys, frames, strict=True):
                digest, features = hashlib.blake2b(digest_size=16), features_of(frame.payload)
                for name in sorted(features.keys() - ids):
                    value = features[name].SerializeToString()
                    digest.update(f"{len(name)} {len(value)} {name}".encode() + value)
                yield key, split, digest.digest()
                meter.add(1)
        except (FileProblemError, pyarrow.ArrowException, OSError, ValueError) as error:
            why = problem(index, f"it does not fit its shard ({error})")
            raise DatasetDamagedError(f"{info.path}: {why}") from error
    meter.beat()


def _differing(above: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that differ, by dotted name; a missing or empty one is None."""
    found: dict[str, Any] = {}
    for name in sorted({*old, *new}):
        both = one, other = old.get(name) or None, new.get(name) or None
        if one != other and all(isinstance(each or {}, Mapping) for each in both):
            found |= _differing(f"{above}{name}.", one or {}, other or {})
        elif one != other:
            found[above + name] = both
    return found
