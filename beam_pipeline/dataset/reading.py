"""Reads shards back: frames with checksums, and Examples that are checked against the schema.

No Beam here: worker processes import this module.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline import kinds, tfrecord
from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.describe import tfds
from beam_pipeline.errors import DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.conformance import mismatches, schema_specs
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists
from tfrecord_dataset.format.frames import payload_of


class Frame(NamedTuple):
    """One record of a shard: the place of its frame in the uncompressed stream, and its Example."""

    offset: int
    length: int
    payload: bytes


def read_frames(path: str, compressed: bool) -> Iterator[Frame]:
    """Read the records of the TFRecord file at `path`, and check both checksums of each.

    A DatasetDamagedError names file, record and byte offset.
    """
    number = end = 0
    try:
        for offset, frame in tfrecord.read_file(path, compressed):
            end = offset
            yield Frame(offset, len(frame), payload_of(frame))
            number, end = number + 1, offset + len(frame)
    except RecordError as error:
        if error.reason == "missing file":
            raise DatasetDamagedError(f"{path}: missing file") from error
        raise DatasetDamagedError(
            f"{path}: record {number}, at byte {end}, is damaged: {error.detail}"
        ) from error


class ExampleChecker:
    """Check Examples, as lists by key, against a schema."""

    def __init__(self, schema: Sequence[Feature]):
        self._kinds = [(feature, kinds.named(feature)) for feature in schema]
        self._specs = schema_specs(schema)
        # Keys in features.json, which every Example by this project has.
        written = (feature for feature in schema if not feature.bare)
        self._keys = frozenset(key for each in written for key in tfds.leaves(each))

    def causes(self, example: Lists) -> Iterator[str]:
        """Yield the reasons why an Example does not fit the schema."""
        if missing := sorted(self._keys - example.keys()):
            yield f"the Example lacks {', '.join(missing)}"
        else:
            yield from mismatches(self._specs, example)

    def media_causes(self, example: Lists) -> Iterator[str]:
        """Yield differences between media of a fitting Example and its facts."""
        for feature, kind in self._kinds:
            if feature.key in example:
                yield from kind.differences(feature, example)


def read_examples(info: Dataset, split: str) -> Iterator[dict[str, Any]]:
    """Read the Examples of a split as values by key, in the order of its shards.

    A damaged record is a DatasetDamagedError, a replaced dataset a DatasetChangedError.
    """
    checker = ExampleChecker(info.schema)
    try:
        for shard in info.splits[split]:
            path = storage.join(info.path, shard.file)
            for number, frame in enumerate(read_frames(path, info.compressed)):
                try:
                    example = lists(frame.payload)
                    cause = next(checker.causes(example), "")
                except ValueError as error:
                    cause = str(error)
                if cause:
                    where = f"{path}: record {number}, at byte {frame.offset}"
                    raise DatasetDamagedError(f"{where}: {cause}; `verify` finds all like it")
                yield {key: list(values) for key, (_, values) in sorted(example.items())}
    except DatasetDamagedError:
        check_unchanged(info)
        raise
