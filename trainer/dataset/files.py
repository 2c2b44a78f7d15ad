"""Bare TFRecord files: their paths, splits, compression and first records."""

import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import tensorflow as tf

from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError
from trainer.input_pipeline.tensorflow_errors import brief
from trainer.records.split import Split
from trainer.store import objects, storage
from trainer.store.cache import Cache
from trainer.store.fetching import Fetcher

# Names that state a split, as in `beam_pipeline` (docs/tfrecords.md).
_TFDS_NAME = re.compile(r"[a-zA-Z]\w*-(?P<split>\w+)\.tfrecord-\d{5,}-of-\d{5,}(\.gz)?")
_SPLIT_NAME = re.compile(
    r"(train|training|val|valid|validation|test|testing|dev|eval|evaluation)"
    r"([-_ ]?(\d{4}|set|split|data|images))?",
    re.IGNORECASE,
)
_YEAR_OR_NUMBER = re.compile(r"\d+$")
_PEEKED_BYTES = 4096
_GZIP_MAGIC = b"\x1f\x8b\x08"

# The sample: the first records of some files that are evenly spread over all.
_SAMPLE_FILES = 16
_SAMPLE_RECORDS = 256
_SAMPLE_BYTES = 64 << 20


def matching_files(patterns: Iterable[str]) -> list[str]:
    """The files that match paths and globs, without duplicates.

    Raises:
        NotADatasetError: One of them matches nothing.
    """
    return list(dict.fromkeys(file for pattern in patterns for file in _matching(pattern)))


def _matching(pattern: str) -> list[str]:
    files = storage.matching(pattern)
    if not files:
        raise NotADatasetError(f"no file or directory {pattern}; check the path")
    return files


def names_below(files: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The paths of `files` relative to the folder that `patterns` have in common."""
    starts = [re.split(r"[*?[{]", pattern, maxsplit=1)[0] for pattern in patterns]
    folders = [path.split("/")[:-1] for path in (*starts, *files)]
    levels = zip(*folders, strict=False)
    depth = len(list(itertools.takewhile(lambda level: len(set(level)) == 1, levels)))
    return ["/".join(file.split("/")[depth:]) for file in files]


def stated_splits(names: Sequence[str]) -> list[str | None]:
    """The split of each file, if all state one: as TFDS names files, else by folder or name."""
    for find in (_split_of_tfds, _split_of_folder, _split_in_name):
        splits = [find(name) for name in names]
        if all(splits):
            return splits
    return [None] * len(names)


def _split_of_tfds(path: str) -> str | None:
    match = _TFDS_NAME.fullmatch(os.path.basename(path))
    return match["split"] if match else None


def _split_of_folder(path: str) -> str | None:
    return next(filter(_SPLIT_NAME.fullmatch, path.split("/")[:-1]), None)


def _split_in_name(path: str) -> str | None:
    """The first word of the file name that names a split, without year or number."""
    words = re.split(r"[_\-.]", os.path.basename(path))
    return next(filter(_SPLIT_NAME.fullmatch, (_YEAR_OR_NUMBER.sub("", w) for w in words)), None)


def splits_of_files(
    files: Sequence[str], names: Sequence[str], cache: Callable[[], Cache]
) -> dict[str, Split]:
    """The splits by name, if all of `names` state one; else a single split "train".

    Args:
        files: Paths or URLs.
        names: Of the files, relative to the folder that they have in common.
        cache: Where copies of remote files go.

    Raises:
        ConfigError: A split has both plain and gzip files.
    """
    grouped: dict[str, list[str]] = {}
    for file, split in zip(files, stated_splits(names), strict=True):
        grouped.setdefault(split or "train", []).append(file)
    return {name: _split(name, members, cache) for name, members in grouped.items()}


def _split(name: str, files: Sequence[str], cache: Callable[[], Cache]) -> Split:
    fetcher = local_copies(files, cache)
    return Split(
        name=name,
        files=fetcher.paths if fetcher else tuple(files),
        compression=_one_compression(files),
        fetcher=fetcher,
    )


def local_copies(files: Sequence[str], cache: Callable[[], Cache]) -> Fetcher | None:
    """What copies remote files to this machine; None, if they are not remote.

    Raises:
        ConfigError: Some are, others are not.
    """
    remote = [file for file in files if storage.is_object(file)]
    if remote and len(remote) < len(files):
        raise ConfigError(f"{remote[0]} is remote, but other files are not; open them separately")
    return Fetcher(objects.describe(remote), cache()) if remote else None


def describe_mixed_names(names: Sequence[str]) -> list[str]:
    """A note if only some of `names` state a split, which is then ignored."""
    example = {bool(stated_splits([name])[0]): name for name in reversed(names)}
    if len(example) < 2 or all(stated_splits(names)):
        return []
    return [
        f"{example[True]} is named after a split, but {example[False]} is not, so all {len(names)} "
        "files are one split, train; open the files of each split separately, or rename them"
    ]


def _one_compression(files: Sequence[str]) -> str:
    """The compression of a split's files; of many files only a few are opened."""
    files_by_compression: dict[str, str] = {}
    for packed in (False, True):
        named = (file for file in files if file.endswith(".gz") is packed)
        files_by_compression |= dict(itertools.islice(_compressions(named), 1))
    if len(files_by_compression) > 1:
        raise ConfigError(
            f"{files_by_compression['GZIP']} is gzip, but "
            f"{files_by_compression['']} of the same split is not; open them one by one, "
            "or make them alike"
        )
    return next(iter(files_by_compression), "")


def compression_of(files: Iterable[str]) -> str:
    """The compression of the first file that is not empty; all shards of a split have the same."""
    return next((compression for compression, _ in _compressions(files)), "")


def _compressions(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(compression, file) of the files that are not empty."""
    for file in files:
        if head := storage.read_start(file, _PEEKED_BYTES):
            yield "GZIP" if is_gzip(head) else "", file


def is_gzip(head: bytes) -> bool:
    """Whether a file that starts with `head` is gzip.

    A plain TFRecord file starts with a length that may look like gzip's magic bytes;
    then the bytes after it cannot be decompressed.
    """
    if not head.startswith(_GZIP_MAGIC):
        return False
    try:
        zlib.decompressobj(wbits=31).decompress(head)
    except zlib.error:
        return False
    return True


def first_records(
    files: Sequence[str], fetcher: Fetcher | None = None
) -> Iterator[tuple[str, bytes]]:
    """(where, serialized record) of some records, spread over the files.

    Args:
        files: Paths or URLs.
        fetcher: Copies remote files to this machine.

    The first 256 / n of each of n files, up to 16, evenly spread over all; fewer if
    they exceed 64 MiB / n.

    Raises:
        DatasetDamagedError: A file is damaged, or not a TFRecord file.
    """
    count = min(len(files), _SAMPLE_FILES)
    chosen = [number * len(files) // count for number in range(count)]
    if fetcher:
        fetcher.expect(chosen)
    for number in chosen:
        file = files[number]
        left = _SAMPLE_BYTES // count
        path = fetcher.fetch(number) if fetcher else file
        records = tf.data.TFRecordDataset(path, compression_of([path]))
        try:
            for index, record in enumerate(records.take(_SAMPLE_RECORDS // count)):
                serialized = record.numpy()
                yield f"record {index} of {file}", serialized
                left -= len(serialized)
                if left <= 0:
                    break
        except tf.errors.DataLossError as error:
            raise DatasetDamagedError(
                f"{file} is {_by_zlib(file) or 'damaged, or not a TFRecord file'}: {brief(error)}"
            ) from error


def _by_zlib(file: str) -> str:
    """A message for a file with TensorFlow's third compression; "" for any other file."""
    try:
        zlib.decompressobj().decompress(storage.read_start(file, _PEEKED_BYTES))
    except zlib.error:
        return ""
    return "compressed as ZLIB, which is not supported; write it plain or as GZIP"
