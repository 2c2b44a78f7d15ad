"""A row for each record of a dataset: what tells it from others, and digests of what it holds."""

import hashlib
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow

from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.dataset.verification.stated_files import FileProblemError, problem, stated_bytes
from beam_pipeline.describe.index import column, rows_file
from beam_pipeline.errors import ConfigError, DatasetDamagedError
from beam_pipeline.running.progress import Meter
from tfrecord_dataset.contents import Contents
from tfrecord_dataset.example import features_of
from tfrecord_dataset.records.split import Split
from tfrecord_dataset.records.streams import windows

_DIGEST_BYTES = 16
# Number of a key, and the start of a digest: enough to name the keys that differ in a record.
_PART = struct.Struct("<H6s")
_MOST_KEYS = 0xFFFF


class Row(NamedTuple):
    """One record.

    Attributes:
        key: What it is found by in the other dataset.
        split: Its split.
        number: In the split, from 0.
        whole: Digest of all that it holds, but for its id and its key.
        id: Digest of its `image/source_id`.
        parts: Number and short digest of each of its Example's keys.
    """

    key: bytes
    split: str
    number: int
    whole: bytes
    id: bytes
    parts: bytes


class KeyNumbers:
    """The numbers of Examples' keys in `Row.parts`; of very many keys the last share one."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, key: str) -> int:
        """The number of a key."""
        return self._numbers.setdefault(key, min(len(self._numbers), _MOST_KEYS))

    def names(self) -> dict[int, str]:
        """The keys by number."""
        names = {number: key for key, number in self._numbers.items()}
        return names | ({_MOST_KEYS: "(others)"} if len(names) > _MOST_KEYS else {})


def parts_of(parts: bytes) -> dict[int, bytes]:
    """The short digest of each key, by the key's number."""
    return dict(_PART.iter_unpack(parts))


class RowReader:
    """Reads the rows of a dataset.

    Args:
        dataset: Whose.
        info: What its metadata.json states; None of bare files.
        key: The Example's key that records are found by; "" for the record's key in the index.
            None for all that a record holds.
        numbers: Of the keys.
    """

    def __init__(
        self, dataset: Contents, info: Dataset | None, key: str | None, numbers: KeyNumbers
    ) -> None:
        self._dataset = dataset
        self._info = info
        self._key = key
        self._numbers = numbers
        beside = _keys_beside(dataset)
        self._ids = frozenset[str]() if key is None else beside("source_id")
        self._names = beside("filename") if key == "" else frozenset(filter(None, [key]))
        self.counts_ids = True
        """Whether the `image/source_id` of all records that were read is the record's number."""

    def rows(self, skipped: Mapping[str, Collection[int]], meter: Meter) -> Iterator[Row]:
        """The rows of all records but those of skipped shards, by number in each split.

        Raises:
            DatasetDamagedError: A record, or its index, cannot be read.
            ConfigError: A record lacks the key.
        """
        before = 0
        for name, split in sorted(self._dataset.splits.items()):
            number = 0
            for shard in range(len(split.shards)):
                if shard in skipped.get(name, ()):
                    number += self._stated(name)[shard].num_records
                    continue
                keys = self._index_keys(name, shard)
                for window in windows(split.shards.files, shard, split.compression):
                    for serialized in window:
                        yield self._row(serialized, split, number, before + number, keys)
                        number += 1
                    meter.add(len(window))
                if keys is not None and next(keys, None) is not None:
                    raise self._damaged_index(name, shard, "it has more rows than its shard")
            before += number
        meter.beat()

    def _row(
        self,
        serialized: bytes,
        split: Split,
        number: int,
        overall: int,
        keys: Iterator[str] | None,
    ) -> Row:
        try:
            features = features_of(serialized)
        except ValueError as error:
            raise DatasetDamagedError(
                f"record {number} of split {split.name} in {self._dataset.path}: {error}"
            ) from error
        whole, parts, ids = hashlib.blake2b(digest_size=_DIGEST_BYTES), [], b""
        for name in sorted(features):
            value = features[name].SerializeToString()
            digest = hashlib.blake2b(value, digest_size=_DIGEST_BYTES).digest()
            if name in self._ids:
                ids += digest
                stated = features[name].bytes_list.value
                self.counts_ids &= list(stated) == [str(overall).encode()]
                continue
            if name in self._names:
                continue
            whole.update(len(name).to_bytes(4, "little") + name.encode() + digest)
            parts.append(_PART.pack(self._numbers.of(name), digest[:6]))
        key = whole.digest()
        if keys is not None:
            key = next(keys, "").encode()
        elif self._key:
            if self._key not in features:
                raise ConfigError(
                    f"record {number} of split {split.name} in {self._dataset.path} has no "
                    f"{self._key!r}; give a --key that all records have"
                )
            key = _text(features[self._key])
        return Row(key, split.name, number, whole.digest(), ids, b"".join(parts))

    def _stated(self, split: str) -> Sequence[Any]:
        assert self._info is not None
        return self._info.splits[split]

    def _index_keys(self, split: str, shard: int) -> Iterator[str] | None:
        """The keys of a shard's records by its index; None where they are told otherwise."""
        if self._key != "" or self._info is None:
            return None
        path = rows_file(self._stated(split)[shard].file)
        try:
            data = stated_bytes(self._info.path, path, self._info.files.get(path))
            return column(data, "key")
        except (FileProblemError, pyarrow.ArrowException, OSError) as error:
            raise self._damaged_index(split, shard, str(error)) from error

    def _damaged_index(self, split: str, shard: int, cause: str) -> DatasetDamagedError:
        path = rows_file(self._stated(split)[shard].file)
        return DatasetDamagedError(f"{self._dataset.path}: {problem(path, cause)}")


def _keys_beside(dataset: Contents) -> Callable[[str], frozenset[str]]:
    """A function that returns the keys of a name beside each image, such as `image/source_id`."""
    images = [each for each in dataset.features.values() if each.kind == "image" and not each.bare]
    return lambda name: frozenset({f"image/{name}", *(each.key_beside(name) for each in images)})


def _text(feature: Any) -> bytes:
    """The values of a feature, as they are shown."""
    for field in ("bytes_list", "int64_list", "float_list"):
        if values := getattr(feature, field).value:
            return b", ".join(
                each if isinstance(each, bytes) else str(each).encode() for each in values
            )
    return b""
