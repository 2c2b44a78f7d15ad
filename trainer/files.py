"""Bare TFRecord files: which there are, of which split, and a look at their first records."""

import itertools
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence

import tensorflow as tf

from trainer.dataset import Split
from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError
from trainer.explaining import brief

# The names that say a split, as `beam_pipeline` understands them (docs/tfrecords.md).
_TFDS_NAME = re.compile(r"[a-zA-Z]\w*-(?P<split>\w+)\.tfrecord-\d{5,}-of-\d{5,}(\.gz)?")
_SPLIT_NAME = re.compile(
    r"(train|training|val|valid|validation|test|testing|dev|eval|evaluation)"
    r"([-_ ]?(\d{4}|set|split|data|images))?",
    re.IGNORECASE,
)
_YEAR_OR_NUMBER = re.compile(r"\d+$")
_PEEKED_BYTES = 4096
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


def names_below(files: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """What of the paths `files` is below the folder in which all of `patterns` start."""
    starts = [re.split(r"[*?[{]", pattern, maxsplit=1)[0] for pattern in patterns]
    folders = [path.split("/")[:-1] for path in (*starts, *files)]
    levels = zip(*folders, strict=False)
    depth = len(list(itertools.takewhile(lambda level: len(set(level)) == 1, levels)))
    return ["/".join(file.split("/")[depth:]) for file in files]


def stated_splits(names: Sequence[str]) -> list[str | None]:
    """The split of each file, where all state one: as TFDS names files, else by folder or name."""
    for find in (_split_of_tfds, _split_of_folder, _split_in_name):
        splits = [find(name) for name in names]
        if all(splits):
            return splits
    return [None] * len(names)


def _split_of_tfds(path: str) -> str | None:
    found = _TFDS_NAME.fullmatch(os.path.basename(path))
    return found["split"] if found else None


def _split_of_folder(path: str) -> str | None:
    return next(filter(_SPLIT_NAME.fullmatch, path.split("/")[:-1]), None)


def _split_in_name(path: str) -> str | None:
    """The first word of the file's name that is a split's name, without year or number."""
    words = re.split(r"[_\-.]", os.path.basename(path))
    return next(filter(_SPLIT_NAME.fullmatch, (_YEAR_OR_NUMBER.sub("", w) for w in words)), None)


def splits_of_files(files: Sequence[str], names: Sequence[str]) -> dict[str, Split]:
    """The splits by name, where all files' `names` state theirs; else one called train.

    Raises:
        ConfigError: A split has plain files and gzip.
    """
    grouped: dict[str, list[str]] = {}
    for file, split in zip(files, stated_splits(names), strict=True):
        grouped.setdefault(split or "train", []).append(file)
    return {
        name: Split(name=name, files=tuple(members), compression=_one_compression(members))
        for name, members in grouped.items()
    }


def mixed_up(names: Sequence[str]) -> list[str]:
    """A sentence where some files' `names` state a split, which counts for nothing then."""
    told = {bool(stated_splits([name])[0]): name for name in reversed(names)}
    if len(told) < 2 or all(stated_splits(names)):
        return []
    return [
        f"{told[True]} is called after a split and {told[False]} is not, so all {len(names)} files "
        "are one split, train; open the files of each split by themselves, or rename them"
    ]


def _one_compression(files: Sequence[str]) -> str:
    """That of a split's files, of which some called .gz and some others are opened, not all."""
    found: dict[str, str] = {}
    for packed in (False, True):
        named = (file for file in files if file.endswith(".gz") is packed)
        found |= dict(itertools.islice(_compressions(named), 1))
    if len(found) > 1:
        raise ConfigError(
            f"{found['GZIP']} is gzip and {found['']} is not, in one split; open them one by one, "
            "or make them alike"
        )
    return next(iter(found), "")


def compression_of(files: Iterable[str]) -> str:
    """What the first file that is not empty says; a split's shards are all alike."""
    return next((compression for compression, _ in _compressions(files)), "")


def _compressions(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(compression, file) of those that are not empty."""
    for file in files:
        with tf.io.gfile.GFile(file, "rb") as handle:
            head = handle.read(_PEEKED_BYTES)
        if head:
            yield "GZIP" if is_gzip(head) else "", file


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
                f"{file} is {_by_zlib(file) or 'damaged, or no TFRecord file'}: {brief(error)}"
            ) from error


def _by_zlib(file: str) -> str:
    """What to say of a file that TensorFlow compressed in its third way; "" of any other."""
    with tf.io.gfile.GFile(file, "rb") as handle:
        head = handle.read(_PEEKED_BYTES)
    try:
        zlib.decompressobj().decompress(head)
    except zlib.error:
        return ""
    return "compressed as ZLIB, which is not read; write it plain or as GZIP"
