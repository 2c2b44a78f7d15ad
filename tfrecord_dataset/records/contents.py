"""Contents of a dataset without its values: features, and splits with their shards."""

import dataclasses
import functools
import io
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.format.feature import Feature, class_names, shape_text
from tfrecord_dataset.page import rendered
from tfrecord_dataset.records.identities import Hashes, hashes_of_rows, labels_of_rows, mixed
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.shard_files import ShardFiles, windows
from tfrecord_dataset.shown_text import one_line
from tfrecord_dataset.store.threads import run_in_threads

_FILES_AT_ONCE = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Split:
    """Shards of a split.

    Attributes:
        name: "train", "val", ….
        shards: The shard files.
        num_records: Number of records; None without metadata, then see `counted`.
        shard_lengths: The same by shard.
        num_bytes: Size of all shards; None without metadata.
        sha256: Hex digests of the shards from metadata.json; empty without it.
        read_rows: Returns index/<shard>.parquet, one row per record; None without it.
        check: Raises DatasetChangedError if another build has replaced the dataset.
    """

    name: str
    shards: ShardFiles = dataclasses.field(repr=False, compare=False)
    num_records: int | None = None
    shard_lengths: tuple[int, ...] | None = None
    num_bytes: int | None = None
    sha256: tuple[str, ...] = ()
    read_rows: Callable[[int], bytes | None] = dataclasses.field(
        default=lambda shard: None, repr=False, compare=False
    )
    check: Callable[[], None] = dataclasses.field(default=lambda: None, repr=False, compare=False)

    # By classes. The splits into which the records of the same shards are divided share them.
    _labels: dict[tuple[str, ...], Any] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def files(self) -> tuple[str, ...]:
        """Paths or URLs of the shards in order."""
        return self.shards.files.names

    @property
    def compression(self) -> str:
        """Compression of the shards: "" or "GZIP"."""
        return self.shards.compression

    def index(self) -> RecordIndex:
        """Positions of the records; frames of bare files are scanned once.

        Raises:
            DatasetDamagedError, DatasetChangedError: As in `RecordIndex`.
        """
        return self._index

    def identities(self, group_by: str = "") -> Hashes | None:
        """Hash the identities of the records, uint64 [n]: equal for those that stay together.

        They are groups if `group_by` is a column or a level of the key; else digests of images and
        audio, or the checksums of the records. None if the index has no such groups.
        """
        found: Hashes | None = self._by_record(lambda data: hashes_of_rows(data, group_by))
        return self._checksums() if found is None and not group_by else found

    def labels(self, classes: Sequence[str]) -> Any:
        """Return each record's first label as its number in `classes`, or -1.

        The array is in the smallest type for them, and is kept. None without an index.
        """
        named = tuple(classes)
        if named not in self._labels:
            self._labels[named] = self._by_record(lambda data: labels_of_rows(data, named))
        return self._labels[named]

    def _by_record(self, read: Callable[[bytes], Any]) -> Any:
        """Concatenate what `read` finds in the index of each shard; None if one lacks it."""

        cores = threading.Semaphore(os.cpu_count() or 1)

        def of_shard(shard: int) -> Any:
            if (data := self.read_rows(shard)) is None:
                return None
            with cores:  # more threads would only contend for Python's lock
                return read(data)

        if not self.files:
            return np.zeros(0, np.int64)
        if (first := of_shard(0)) is None:  # without asking for all others
            return None
        others = run_in_threads(of_shard, range(1, len(self.files)), _FILES_AT_ONCE)
        return None if any(each is None for each in others) else np.concatenate([first, *others])

    def sources(self, numbers: Sequence[int]) -> list[str]:
        """Return each record's file, or file and line, such as "a.csv:7"; "" without an index."""
        import pyarrow.parquet  # only needed for a few records to look at

        index = self.index()
        columns: dict[int, Any] = {}
        sources = []
        for number, shard in zip(numbers, index.shard_of(numbers).tolist(), strict=True):
            if shard not in columns and (data := self.read_rows(shard)) is not None:
                file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
                columns[shard] = file.read(columns=["source"]).column(0)
            row = number - int(index.first[shard])
            sources.append(columns[shard][row].as_py() if shard in columns else "")
        return sources

    def _checksums(self) -> Hashes:
        index = self.index()
        checksums = [index.checksums(shard) for shard in range(len(self.files))]
        return mixed(np.concatenate(checksums).astype(np.uint64))

    @functools.cached_property
    def _index(self) -> RecordIndex:
        return RecordIndex(self.shards, self.shard_lengths, self.check)

    @functools.cached_property
    def counted(self) -> int:
        """Number of records; records of files without metadata are counted once.

        Raises:
            DatasetDamagedError: A file is damaged or truncated.
            DatasetChangedError: A file has changed.
        """
        if self.num_records is not None:
            return self.num_records
        if not self.compression:
            return self._index.num_records
        return sum(
            len(window)
            for number in range(len(self.shards))
            for window in windows(self.shards.files, number, self.compression)
        )


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Contents:
    """Description of a dataset: features, splits, numbers of records and statistics.

    Attributes:
        path: Path for messages.
        features: Features by name.
        splits: Splits by name: `"train" in dataset.splits`, `list(dataset.splits)`.
        fingerprint: Identifies the content, from metadata.json; empty without metadata.
        facts: Content of metadata.json; empty without it.
        notes: Messages about bare files.
        remedy: Advice for a record that does not fit the features.
        read_statistics: Returns statistics.json by split and feature; empty without the file.
    """

    path: str
    features: Mapping[str, Feature]
    splits: Mapping[str, Split]
    fingerprint: str = ""
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    remedy: str = "run `beam-tfrecords verify` on the dataset"
    read_statistics: Callable[[], Mapping[str, Mapping[str, Any]]] = dataclasses.field(
        default=dict, repr=False, compare=False
    )

    def __repr__(self) -> str:
        """Short form for debuggers and consoles."""
        splits = ", ".join(f"{count} in {name}" for name, count in self._counts())
        said = f"{self.path}: {splits or 'no records'}; {', '.join(self.features)}"
        return f"<{type(self).__name__} {one_line(said)}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return as_html(self.path, self._counts(), self.features.values())

    def _counts(self) -> list[tuple[str, str]]:
        return [
            (name, "?" if split.num_records is None else f"{split.num_records:,}")
            for name, split in self.splits.items()
        ]

    @property
    def build_options(self) -> Mapping[str, Any]:
        """Options of the build that determine the content; empty without metadata.json."""
        config = self.facts.get("config")
        return config if isinstance(config, Mapping) else {}

    @property
    def group_by(self) -> str:
        """Column, or level of the key, each of whose values is in one split; or ""."""
        stated = self.build_options.get("group_by")
        return stated if isinstance(stated, str) else ""

    @property
    def classes(self) -> list[str]:
        """Class names by number: those of the class label, else of the boxes."""
        return class_names(self.features.values())

    def split(self, name: str | None = None) -> Split:
        """Return the split named `name`, or the only one.

        Raises:
            UnknownNameError: The split does not exist.
            ConfigError: There are several splits, and `name` is None.
        """
        if name is None:
            if len(self.splits) != 1:
                several = "several splits; name one of: " if self.splits else "no splits"
                raise ConfigError(f"{self.path} has {several}{', '.join(self.splits)}")
            [name] = self.splits
        if name not in self.splits:
            raise UnknownNameError("split", name, self.splits, self.path)
        return self.splits[name]

    def num_records(self, split: str | None = None) -> int:
        """Return the number of records of a split; files without metadata are counted once."""
        return self.split(split).counted

    def index(self, split: str | None = None) -> RecordIndex:
        """Return the record index of a split; frames of bare files are scanned once.

        Raises:
            DatasetDamagedError: The shards do not match metadata.json or their .idx files.
        """
        return self.split(split).index()

    def statistics(self, split: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return a split's statistics.json by feature; empty without the file."""
        return self.read_statistics().get(self.split(split).name, {})

    def numbers_to_predict(self, statistics: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return the numbers that one split lacks entirely, and another has, by statistics.json."""
        by_split = statistics.values()
        return [
            name
            for name, feature in self.features.items()
            if feature.kind == "scalar"
            for counts in [[facts.get(name, {}).get("count") for facts in by_split]]
            if 0 in counts and any(counts)
        ]


def as_html(path: str, counts: list[tuple[str, str]], features: Iterable[Feature]) -> str:
    """Render a dataset as a table of splits and one of features."""
    forms = [(feature.name, _form(feature)) for feature in features]
    tables = {("split", "records"): counts, ("feature", "form"): forms}
    facts = {"path": path, "tables": tables}
    return rendered(Path(__file__).parents[1] / "page", "contents.html.j2", facts)


def _form(feature: Feature) -> str:
    """Describe a feature's values in a few words: "image uint8 [32, 32, 3]"."""
    shape = shape_text(feature) if feature.shape else ""
    classes = f"of {len(feature.classes):,} classes" if feature.classes else ""
    return " ".join(filter(None, (feature.kind, feature.dtype, shape, classes)))
