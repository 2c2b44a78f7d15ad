"""Find TFRecord files by their first bytes, and splits by their names."""

import dataclasses
import re
import zlib
from collections.abc import Sequence

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.sources.paths import name_of, parent
from beam_pipeline.sources.tables.parts import WHOLE, Part
from beam_pipeline.sources.tree import NOTHING, Ignored, InputFile, find_files
from tfrecord_dataset.format.frames import HEADER_BYTES, starts_frame
from tfrecord_dataset.format.split_names import TFDS_NAME, splits_of_record_files

_PEEKED_BYTES = 4096
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_OR_ZLIB = 47  # zlib's wbits
_NO_FRAME = (
    "it starts with no record's length and the checksum of that, nor does its content where it is "
    "gzip"
)
_ZLIB = "it is compressed as ZLIB, which is not supported; write it plain or as GZIP"
# Numbers and gzip's suffix may follow; indexes of files have other suffixes.
_NAMED_SO = re.compile(r"(tfrec(ords?)?|\.records?)(-of-|[-_.\d])*(\.gz(ip)?)?$", re.IGNORECASE)
# Files that describe a dataset.
_DESCRIPTIONS = frozenset({"metadata.json", "dataset_info.json"})
_REMOTE_FILES_AT_ONCE = 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile(InputFile):
    """A TFRecord file, possibly compressed with gzip, or a part of one."""

    compressed: bool
    part: Part = WHOLE


def find_record_files(
    path: str, ignored: Ignored = NOTHING
) -> tuple[list[RecordFile], list[Rejected]]:
    """Find the TFRecord files of an input, sorted, and rejects for other files.

    Raises:
        ConfigError: There is no TFRecord file.
    """
    listed = find_files(path, lambda _: True, ignored)
    threads = _REMOTE_FILES_AT_ONCE if storage.is_remote(path) else 1
    looked = list(map_threads(_look, listed, threads))
    files = [each for each in looked if isinstance(each, RecordFile)]
    rejected = [each for each in looked if isinstance(each, Rejected)]
    if not files:
        why = next((f"; {each.source}: {each.detail}" for each in rejected if each.bad), "")
        raise ConfigError(
            f"{path} holds no TFRecord file ({len(listed)} looked at{why}); give a folder, file or "
            "pattern of some"
        )
    splits = splits_of_record_files([file.relative for file in files])
    pairs = zip(files, splits, strict=True)
    return [dataclasses.replace(file, split=split) for file, split in pairs], rejected


def _look(file: InputFile) -> RecordFile | Rejected:
    path, name = file.path, file.relative
    try:
        kind = kind_of_file(path)
    except RecordError as error:
        return Rejected.of(name, error)
    if kind in ("plain", "gzip"):
        return RecordFile(path=path, relative=name, split=None, compressed=kind == "gzip")
    return Rejected(
        source=file.relative,
        reason="not a TFRecord file",
        detail=_ZLIB if kind == "zlib" else _NO_FRAME,
        bad=kind == "zlib" or has_record_name(file.relative),
    )


def kind_of_file(path: str) -> str | None:
    """Detect a TFRecord file: "plain", "gzip" or "zlib"; None for any other file.

    TensorFlow's zlib is recognised but not read. An empty file, or compressed empty content, is a
    TFRecord file only if it is named like one.

    Raises:
        RecordError: "missing file" or "unreadable file".
    """
    with storage.opened(path) as handle:
        head = handle.read(_PEEKED_BYTES)
    # A plain file may start like gzip, since its first length can be any number.
    if starts_frame(head) or not head:
        return "plain" if head or has_record_name(path) else None
    unpacking = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    try:
        unpacked = unpacking.decompress(head, HEADER_BYTES)
    except zlib.error:
        return None
    if starts_frame(unpacked) or (unpacking.eof and not unpacked and has_record_name(path)):
        return "gzip" if head.startswith(_GZIP_MAGIC) else "zlib"
    return None


def has_record_name(path: str) -> bool:
    """Whether a file has the name of a TFRecord file."""
    return _NAMED_SO.search(name_of(path)) is not None


def tfds_name(files: Sequence[str]) -> str:
    """Return the dataset's name in TFDS file names, or "" unless all files have the same one."""
    matches = [TFDS_NAME.fullmatch(name_of(file)) for file in files]
    names = {each["name"] if each else "" for each in matches}
    return names.pop() if len(names) == 1 else ""


def find_shards(directory: str) -> list[RecordFile]:
    """Find the TFRecord files of a directory to read as one dataset.

    Raises:
        ConfigError: The files cannot be one dataset, or there are none.
        DataError: A file named like a TFRecord file is not one, or cannot be read.
    """
    if not storage.is_directory(directory):
        raise ConfigError(f"{directory} is not a directory; give the one that holds the files")
    files, others = find_record_files(directory)
    for other in others:
        if other.bad:
            raise DataError(
                f"{other.source}: {other.reason} ({other.detail}); fix it, or move it away"
            )
        if name_of(other.source) in _DESCRIPTIONS and other.source not in _DESCRIPTIONS:
            raise ConfigError(
                f"{directory} has a dataset below it, {parent(other.source)}; adopt that, or "
                "move it away"
            )
    names = [file.relative for file in files]
    in_gzip = {file.compressed: file.relative for file in files}
    with_split = {bool(splits_of_record_files([name])[0]): name for name in names}
    for one_of, what in ((in_gzip, "gzip"), (with_split, "named after a split")):
        if len(one_of) > 1:
            raise ConfigError(
                f"{one_of[True]} is {what}, but not {one_of[False]}; make them alike, or build a "
                "dataset from them"
            )
    return files
