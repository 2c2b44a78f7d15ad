"""The layout `idx`: a file of images and a file of their classes per split, as in MNIST.

Format: http://yann.lecun.com/exdb/mnist: two zeros, a type, the number of axes, the sizes, values.
Images are converted to PGM, and concatenated in one file.
"""

import dataclasses
import glob
import re
import shlex
import struct
from collections.abc import Iterator
from typing import Any

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, FileRef, Image
from beam_pipeline.sources.layout import Claim, Layout, claim_of_files, reading
from beam_pipeline.sources.paths import joined, name_of, parent
from beam_pipeline.sources.rejects import left_out
from beam_pipeline.sources.tables.read_tables import ReadContainers, ReadRows
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.table import BATCH_ROWS, Batch, Scratch, Table, TableFile
from beam_pipeline.sources.tree import Tree, shown
from beam_pipeline.sources.unpacking import unpacked
from tfrecord_dataset.format.split_names import split_in_name

_IMAGES = re.compile(r"(.*?)images[-_.]?idx3[-_.]ubyte(\.gz)?", re.IGNORECASE)
_OF_CLASSES = (("images", "labels"), ("IMAGES", "LABELS"), ("idx3", "idx1"))
_UBYTE = 8
_MAX_SIDE = 65_535
_MAX_RECORDS = 100_000_000
_BLOCK_BYTES = 1 << 20
# Reasons of `Rejected`.
DAMAGED = "damaged idx file"
UNSUPPORTED = "unsupported idx file"


@dataclasses.dataclass(frozen=True, kw_only=True)
class IdxTable(Table):
    """A file of images, with the file of their classes, `labels`."""

    has_values = True
    sign = "#"

    labels: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """Read the rows; the images are unpacked into `scratch` once."""
        path = self.file.path
        with storage.decompressed(self.labels) as handle:
            [number] = _sizes(handle, self.labels, axes=1)
            labels = bytes(handle.read(number + 1))
        with storage.decompressed(path) as handle:
            count, height, width = _sizes(handle, path, axes=3)
        if not count == number == len(labels):
            raise RecordError(DAMAGED, f"{count:,} images and {len(labels):,} classes")
        assert scratch
        head = b"P5\n%d %d\n255\n" % (width, height)
        path = unpacked(path, "images", scratch.folder, _images(path, head))
        length = len(head) + height * width
        for start in range(0, len(labels), BATCH_ROWS):
            rows = range(start, min(start + BATCH_ROWS, len(labels)))
            files = (FileRef(path=path, offset=row * length, length=length) for row in rows)
            images = [Image(file=file) for file in files]
            columns = {"image": images, "label": [*labels[start : rows.stop]]}
            yield Batch(columns=columns, lines=rows)


@dataclasses.dataclass
class ReadIdx(ReadContainers):
    """Read images with their classes as records `<file of images>#<number>`.

    Yields a Record {image, label} for each image; a bad Rejected for an unusable pair of files;
    Rejected, not bad, for other files. Classes without names in `classes` are numbers.
    """

    def is_meant(self, path: str) -> bool:
        return is_images(path)

    def opened(self, file: TableFile) -> IdxTable:
        """Pair a file of images with the file of their classes."""
        name = name_of(file.path)
        labels = name.removesuffix(".gz")
        for old, new in _OF_CLASSES:
            labels = labels.replace(old, new)
        places = [joined(parent(file.path), each) for each in (labels, f"{labels}.gz")]
        label_file = next(filter(storage.exists, places), "")
        if not label_file:
            raise ConfigError(
                f"{file.relative} has no classes: {labels} is missing; put it in the same folder, "
                f"or leave the images out with --ignore {shlex.quote(glob.escape(file.relative))}"
            )
        file = dataclasses.replace(file, split=_split_of(name) or file.split)
        return IdxTable(file=file, header=("image", "label"), labels=label_file)

    def job(self) -> ReadRows:
        """Like `ReadTables.job`; raise ConfigError if two files have the images of one split."""
        files = self.files()
        paths = {file.path for file in files}
        by_split: dict[str, IdxTable] = {}
        twins, read = [], []
        for file in files:
            if file.path.removesuffix(".gz") in paths - {file.path}:
                reason = ("compressed twin", "the same file is there unpacked")
                twins.append(left_out(file.relative, *reason))
                continue
            table = self.opened(file)
            split = table.file.split or file.path
            if (other := by_split.setdefault(split, table)) is not table:
                raise ConfigError(
                    f"{other.file.relative} and {file.relative} both have images of {split}; "
                    f"leave one out with --ignore {shlex.quote(glob.escape(file.relative))}"
                )
            read += [file.path, table.labels, f"{table.labels}.gz"]
        roles = Roles(labels=(("label", "label"),), classes=tuple(self.classes))
        others = [*twins, Consumed(paths=tuple(read))]
        return ReadRows([*by_split.values()], roles, self.scratch, others)


def is_images(path: str) -> bool:
    """Whether a file has the name of a file of images."""
    return _IMAGES.fullmatch(name_of(path)) is not None


def _split_of(name: str) -> str | None:
    before = name.lower().partition("images")[0].strip("-_. ")
    return "test" if "t10k" in before else split_in_name(before) or None


def _sizes(handle: Any, path: str, axes: int) -> tuple[int, ...]:
    """Read the sizes by axis before the values; raise RecordError if there are none."""
    name = name_of(path)
    start = handle.read(4)
    if len(start) < 4 or start[:2] != b"\0\0":
        raise RecordError(DAMAGED, f"{name} begins with {start!r}, not as idx files do")
    if (start[2], start[3]) != (_UBYTE, axes):
        raise RecordError(
            UNSUPPORTED,
            f"{name} has values of type {start[2]:#04x} with {start[3]} axes, where bytes with "
            f"{axes} are read; save it as .npz",
        )
    stated = handle.read(4 * axes)
    sizes = struct.unpack(f">{axes}L", stated) if len(stated) == 4 * axes else ()
    if not sizes or sizes[0] > _MAX_RECORDS or not all(0 < side <= _MAX_SIDE for side in sizes[1:]):
        raise RecordError(DAMAGED, f"{name} states the sizes {sizes}")
    return sizes


def _images(path: str, head: bytes) -> Iterator[bytes]:
    with storage.decompressed(path) as handle:
        number, height, width = _sizes(handle, path, axes=3)
        size = height * width
        step = max(1, _BLOCK_BYTES // size)
        for start in range(0, number, step):
            expected = size * min(step, number - start)
            data = handle.read(expected)
            if len(data) < expected:
                raise RecordError(DAMAGED, f"{name_of(path)} ends before its last image does")
            yield b"".join(head + data[at : at + size] for at in range(0, len(data), size))
        if handle.read(1):
            raise RecordError(DAMAGED, f"bytes follow the images of {name_of(path)}")


def claim_idx(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim files of images by their names."""
    files = sorted(filter(is_images, tree.files()))
    claim = claim_of_files("idx", tree, files)
    if claim is None or tree.is_file:
        return claim
    splits = sorted({split for file in files if (split := _split_of(name_of(file)))})
    what = shown(files, "file") + (f" in {', '.join(splits)}" if splits else "")
    return dataclasses.replace(claim, understood=(("files", what),))


_SIGN = "*-images-idx3-ubyte and *-labels-idx1-ubyte, or .gz"
LAYOUT = Layout(name="idx", sign=_SIGN, read=reading(ReadIdx), takes=(), claim=claim_idx)
