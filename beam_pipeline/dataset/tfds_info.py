"""Reads the description that TFDS wrote into a directory."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from beam_pipeline.describe.tfds import INFO_FILE
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from tfrecord_dataset.format.metadata import ShardEntry

# All fields that this project writes; TFDS adds the location of its code and its citation.
_BUILD_FIELDS = frozenset({"name", "version", "fileFormat", "splits", "supervisedKeys"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TfdsInfo:
    """TFDS's description of a directory, with the number of records of each shard by split."""

    name: str
    version: str
    shard_lengths: Mapping[str, list[int]]

    @classmethod
    def read(cls, directory: str) -> Self | None:
        """Read TFDS's files in `directory`; None if they are missing or by this project."""
        path = storage.join(directory, INFO_FILE)
        if not storage.exists(path):
            return None
        try:
            info = json.loads(storage.read_text(path))
            if set(info) <= _BUILD_FIELDS:
                return None
            return cls(
                name=info["name"],
                version=info.get("version", ""),
                shard_lengths={
                    split["name"]: [int(each) for each in split.get("shardLengths", ())]
                    for split in info["splits"]
                },
            )
        except (RecordError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is invalid: {error!r}; fix it, or move it away") from error

    def check(self, shards: Mapping[str, Sequence[ShardEntry]]) -> None:
        """Raise DataError if TFDS's shard lengths are not those of the actual shards, by split."""
        actual = {split: [info.num_records for info in infos] for split, infos in shards.items()}
        stated = {split: lengths for split, lengths in self.shard_lengths.items() if lengths}
        if stated != actual:
            raise DataError(
                f"{INFO_FILE} states the shard lengths {stated}, but there are {actual}; "
                "fetch the missing files, or move it away with features.json"
            )


def class_names(directory: str, keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return TFDS's class names by key of the Examples, if any."""
    names = {}
    present = set(storage.list_dir(directory))
    for key in keys:
        for file in (f"{key.replace('/', separator)}.labels.txt" for separator in ".-"):
            if file in present:
                lines = storage.read_text(storage.join(directory, file)).splitlines()
                names[key] = tuple(line.strip() for line in lines if line.strip())
    return names
