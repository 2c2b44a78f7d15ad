"""Reading shards back: frames with their checksums, and Examples."""

import gzip
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.io.tfrecordio import _TFRecordUtil

from beam_pipeline import storage
from beam_pipeline.dataset import DatasetInfo
from beam_pipeline.errors import DatasetDamagedError
from beam_pipeline.example import decode


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
    number = offset = 0
    try:
        with _open(path, compressed) as handle:
            while (payload := _TFRecordUtil.read_record(handle)) is not None:
                length = _TFRecordUtil.encoded_num_bytes(payload)
                yield Frame(offset, length, payload)
                number += 1
                offset += length
    except FileNotFoundError as error:
        raise DatasetDamagedError(f"{path}: missing file") from error
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DatasetDamagedError(
            f"{path}: record {number}, at byte {offset}, is damaged: {error}"
        ) from error


def _open(path: str, compressed: bool) -> Any:
    if storage.is_remote(path):
        kind = CompressionTypes.GZIP if compressed else CompressionTypes.UNCOMPRESSED
        return FileSystems.open(path, compression_type=kind)
    return gzip.open(path) if compressed else open(path, "rb")


def read_examples(info: DatasetInfo, split: str) -> Iterator[dict[str, Any]]:
    """The Examples of a split as values by key, in the order of its shards."""
    for shard in info.splits[split]:
        for frame in read_frames(storage.join(info.directory, shard.file), info.compressed):
            yield decode(frame.payload)
