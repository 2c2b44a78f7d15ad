"""What a dataset says of itself, without its values."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.feature import Feature, class_names
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.shard_files import ShardFiles
from tfrecord_dataset.records.split import Split
from tfrecord_dataset.records.streams import windows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contents:
    """What a dataset says of itself: its features, splits, records and statistics.

    Attributes:
        path: For messages.
        features: Feature by name.
        splits: Split by name: `"train" in dataset.splits`, `list(dataset.splits)`.
        fingerprint: Identifies the content, from metadata.json; empty without metadata.
        notes: Guesses about the records of bare files, as messages.
        remedy: What to do when a record does not fit the features.
        read_statistics: Returns what statistics.json states by split and feature; nothing
            without the file.
    """

    path: str
    features: Mapping[str, Feature]
    splits: Mapping[str, Split]
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    remedy: str = "run `python -m beam_pipeline verify` on it"
    read_statistics: Callable[[], Mapping[str, Mapping[str, Any]]] = dataclasses.field(
        default=dict, repr=False, compare=False
    )
    _record_counts: dict[str, int] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )
    _indexes: dict[str, RecordIndex] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def classes(self) -> list[str]:
        """Class names by number: those of the class label, else those of the boxes."""
        return class_names(self.features.values())

    def split(self, name: str | None = None) -> Split:
        """The split named `name`, or the only one.

        Raises:
            UnknownNameError: No such split.
            ConfigError: There are several splits, and `name` is None.
        """
        if name is None:
            if len(self.splits) > 1:
                raise ConfigError(
                    f"{self.path} has several splits; name one of: {', '.join(self.splits)}"
                )
            name = next(iter(self.splits))
        if name not in self.splits:
            raise UnknownNameError(f"split in {self.path}", name, self.splits)
        return self.splits[name]

    def num_records(self, split: str | None = None) -> int:
        """The number of records of a split; for files without metadata they are counted once."""
        chosen = self.split(split)
        if chosen.num_records is not None:
            return chosen.num_records
        if not chosen.compression:
            return self.index(chosen.name).num_records
        if chosen.name not in self._record_counts:
            self._record_counts[chosen.name] = count_gzip_records(chosen.shards)
        return self._record_counts[chosen.name]

    def index(self, split: str | None = None) -> RecordIndex:
        """Where each record of a split is; of bare files the frames are walked once.

        Raises:
            DatasetDamagedError: The shards are not what metadata.json or their .idx files state.
        """
        chosen = self.split(split)
        if chosen.name not in self._indexes:
            self._indexes[chosen.name] = chosen.index()
        return self._indexes[chosen.name]

    def statistics(self, split: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        """What statistics.json states of a split, by feature (docs/format.md); else nothing."""
        return self.read_statistics().get(self.split(split).name, {})


def count_gzip_records(shards: ShardFiles) -> int:
    """The records of gzip TFRecord files, which are read completely.

    Raises:
        DatasetDamagedError: A file is damaged, or ends too early.
        DatasetChangedError: One is another file by now.
    """
    numbers = range(len(shards))
    shards.files.expect(numbers)
    return sum(
        len(window)
        for number in numbers
        for window in windows(shards.files, number, shards.compression)
    )
