"""Bare TFRecord files: which there are, of which split, and a look at their first records."""

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence

import tensorflow as tf

from trainer.dataset import Split
from trainer.errors import DatasetDamagedError, NotADatasetError

_TFDS_FILE = re.compile(r".+-(?P<split>[^-]+)\.[a-z]+-\d{5,}-of-\d{5,}(\.gz)?$")
_SPLIT_FILE = re.compile(
    r"(?P<split>training|train|validation|valid|val|dev|testing|test|eval)(?![a-z])", re.IGNORECASE
)
_GZIP_MAGIC = b"\x1f\x8b\x08"

# Of so many files, evenly spread over all, the first records, so many over all.
_SAMPLE_FILES = 16
_SAMPLE_RECORDS = 256
_SAMPLE_BYTES = 64 << 20


def matching_files(patterns: Iterable[str]) -> list[str]:
    """The files that paths and globs name, each once.

    Raises:
        NotADatasetError: One of them matches nothing.
    """
    return list(dict.fromkeys(file for pattern in patterns for file in _matching(pattern)))


def _matching(pattern: str) -> list[str]:
    files = [pattern] if tf.io.gfile.exists(pattern) else sorted(tf.io.gfile.glob(pattern))
    if not files:
        raise NotADatasetError(f"no file or directory {pattern}; check the path")
    return files


def splits_of_files(files: Sequence[str]) -> dict[str, Split]:
    """The splits by name, where all files' names say theirs; else one called train."""
    names = [os.path.basename(file) for file in files]
    for pattern in (_TFDS_FILE, _SPLIT_FILE):
        matches = [pattern.match(name) for name in names]
        if all(matches):
            break
    grouped: dict[str, list[str]] = {}
    for file, match in zip(files, matches, strict=True):
        name = match["split"] if match and all(matches) else "train"
        grouped.setdefault(name, []).append(file)
    return {
        name: Split(name=name, files=tuple(members), compression=compression_of(members))
        for name, members in grouped.items()
    }


def compression_of(files: Iterable[str]) -> str:
    """What the first file that is not empty says; a split's shards are all alike."""
    for file in files:
        with tf.io.gfile.GFile(file, "rb") as handle:
            head = handle.read(4096)
        if head:
            return "GZIP" if is_gzip(head) else ""
    return ""


def is_gzip(head: bytes) -> bool:
    """Whether a file that starts with `head` is gzip.

    A plain TFRecord file starts with a length, which may look like gzip's magic bytes;
    what follows them then does not unpack.
    """
    if not head.startswith(_GZIP_MAGIC):
        return False
    try:
        zlib.decompressobj(wbits=31).decompress(head)
    except zlib.error:
        return False
    return True


def first_records(files: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """(where, serialized record) of some records, spread over the files.

    The first 256 / n of each of n files, 16 at most, evenly spread over all; fewer where
    these are more than 64 MiB / n.

    Raises:
        DatasetDamagedError: A file is damaged, or no TFRecord file.
    """
    count = min(len(files), _SAMPLE_FILES)
    for number in range(count):
        file = files[number * len(files) // count]
        left = _SAMPLE_BYTES // count
        records = tf.data.TFRecordDataset(file, compression_of([file]))
        try:
            for index, record in enumerate(records.take(_SAMPLE_RECORDS // count)):
                serialized = record.numpy()
                yield f"record {index} of {file}", serialized
                left -= len(serialized)
                if left <= 0:
                    break
        except tf.errors.DataLossError as error:
            raise DatasetDamagedError(
                f"{file} is damaged, or no TFRecord file: {error.message}"
            ) from error
