"""Reads shards back: frames with checksums, and Examples."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.verification.stored_record import ExampleChecker
from beam_pipeline.errors import DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.tfrecord import frames
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.frames import payload_of


class Frame(NamedTuple):
    """One record of a shard.

    Attributes:
        offset: Start of its frame, in bytes of the uncompressed stream.
        length: Size of the frame in bytes: the payload and 16 more.
        payload: The serialized Example.
    """

    offset: int
    length: int
    payload: bytes


def read_frames(path: str, compressed: bool) -> Iterator[Frame]:
    """Read the records of the TFRecord file at `path`, and check both checksums of each.

    Raises:
        DatasetDamagedError: The file is missing, or a frame is cut off or does not match its
            checksum; the message names file, record and byte offset.
    """
    number = end = 0
    try:
        for offset, frame in frames.read_file(path, compressed):
            end = offset
            yield Frame(offset, len(frame), payload_of(frame))
            number, end = number + 1, offset + len(frame)
    except RecordError as error:
        if error.reason == "missing file":
            raise DatasetDamagedError(f"{path}: missing file") from error
        raise DatasetDamagedError(
            f"{path}: record {number}, at byte {end}, is damaged: {error.detail}"
        ) from error


def read_examples(info: Dataset, split: str) -> Iterator[dict[str, Any]]:
    """Read the Examples of a split as values by key, in the order of its shards.

    Raises:
        DatasetDamagedError: As in `read_frames`, or a record does not fit the schema.
        DatasetChangedError: Another build has replaced the dataset.
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
