"""Reading shards back: frames with their checksums, and Examples."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.verification.stored_record import ExampleReader
from beam_pipeline.errors import DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.tfrecord import frames
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.frames import payload_of


class Frame(NamedTuple):
    """One record of a shard.

    Attributes:
        offset: Where its frame starts, in bytes of the uncompressed stream.
        length: Bytes of the frame: the payload and 16 more.
        payload: The serialized Example.
    """

    offset: int
    length: int
    payload: bytes


def read_frames(path: str, compressed: bool) -> Iterator[Frame]:
    """The records of the TFRecord file at `path`; both checksums of each are checked.

    Raises:
        DatasetDamagedError: The file is missing, or a frame is cut off or does not match its
            checksum; file, record and byte offset are named.
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
    """The Examples of a split as values by key, in the order of its shards.

    Raises:
        DatasetDamagedError: As `read_frames`, and where a record is not as the schema says.
        DatasetChangedError: Another build has taken the dataset's place.
    """
    reader = ExampleReader(info.schema, info.holds_existing_examples)
    try:
        for shard in info.splits[split]:
            path = storage.join(info.path, shard.file)
            for number, frame in enumerate(read_frames(path, info.compressed)):
                try:
                    example = lists(frame.payload)
                    cause = next(reader.causes(example), "")
                except ValueError as error:
                    cause = str(error)
                if cause:
                    where = f"{path}: record {number}, at byte {frame.offset}"
                    raise DatasetDamagedError(f"{where}: {cause}; `verify` finds all like it")
                yield {key: list(values) for key, (_, values) in sorted(example.items())}
    except DatasetDamagedError:
        check_unchanged(info)
        raise
