"""The layout `idx`: images and their classes in two files each, as MNIST and its likes have them.

Format: http://yann.lecun.com/exdb/mnist: two zeros, a type, the number of axes, the sizes, values.
The images become PGM or PPM files, one after the other in one file, so that they are images.
"""

import dataclasses
import math
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import (
    ClassLabel,
    Consumed,
    DeclaredClasses,
    Element,
    FileRef,
    Image,
    Record,
    Rejected,
)
from beam_pipeline.running.gathering import Balance
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.layout import Claim, Layout, Rank, read_by
from beam_pipeline.sources.paths import left_out
from beam_pipeline.sources.tables.labels import named_class
from beam_pipeline.sources.tree import Tree, shown
from beam_pipeline.sources.unpacking import unpacked
from tfrecord_dataset.split_names import split_in_name

_NAME = re.compile(
    r"(?P<before>.*?)(?P<what>images|labels)(?P<between>[-_.]?)idx\d[-_.]"
    r"(?P<type>ubyte|byte|short|int|float|double)(?P<gz>\.gz)?",
    re.IGNORECASE,
)
_UBYTE = 8
_MAX_SIDE = 65_535
_MAX_RECORDS = 100_000_000
_RECORDS_AT_ONCE = 4096
# Reasons of `Rejected`.
DAMAGED = "damaged idx file"
UNSUPPORTED = "unsupported idx file"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """A file of images and that of their classes.

    Attributes:
        images, labels: Paths.
        relative: The path of the images below the input; keys begin with it.
        split: The split that the name states.
    """

    images: str
    labels: str
    relative: str
    split: str | None


@dataclasses.dataclass
class ReadIdx(beam.PTransform):
    """Images with their classes: `<file of images>#<number>`.

    Yields a Record {image, label} for each image; a bad Rejected for a pair of files that cannot be
    used; Rejected, not bad, for other files.

    Attributes:
        path: A file of images, a folder, or a pattern of files.
        scratch: The folder where the images are unpacked.
        classes: The names of the classes 0, 1, …; none leaves them their numbers.
        ignored: Files that are left out.
    """

    path: str
    scratch: str
    classes: Sequence[str] = ()
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Element]:
        pairs, others = find_pairs(self.path, self.ignored)
        both = (path for pair in pairs for path in (pair.images, pair.labels))
        consumed = Consumed(paths=tuple(both))
        return (
            pipeline
            | "Pairs" >> beam.Create([*pairs, *others, consumed])
            | "BalancePairs" >> Balance()  # Pair | Rejected
            | "ReadPairs" >> beam.FlatMap(read_pair, self.scratch, tuple(self.classes))  # Element
        )


def find_pairs(path: str, ignored: Ignored = NOTHING) -> tuple[list[Pair], list[Rejected]]:
    """The pairs of files at `path`, and what else is there.

    Raises:
        ConfigError: Images have no file of classes, or two files have the images of one split.
    """
    files, _ = find_files(path, is_idx, ignored)
    by_path = {file.path: file for file in files}
    rejected: list[Rejected] = []
    pairs: list[Pair] = []
    for file in files:
        if file.path.endswith(".gz") and file.path.removesuffix(".gz") in by_path:
            rejected.append(left_out(file.relative, "compressed twin", "the same lies unpacked"))
        elif is_images(file.relative):
            pairs.append(_pair(file.path, file.relative, file.split))
    _check(pairs)
    return pairs, rejected


def is_idx(path: str) -> bool:
    """Whether a file is called as those of images and of classes are."""
    return _NAME.fullmatch(path.rpartition("/")[2]) is not None


def is_images(path: str) -> bool:
    """Whether a file is called as those of images are."""
    name = _NAME.fullmatch(path.rpartition("/")[2])
    return name is not None and name["what"].lower() == "images"


def _pair(images: str, relative: str, split: str | None) -> Pair:
    folder, _, name = images.rpartition("/")
    parts = _NAME.fullmatch(name)
    assert parts
    before = parts["before"]
    labels = f"{folder}/{before}{_like(parts['what'], 'labels')}{parts['between']}idx1-ubyte"
    labels = labels.replace("-ubyte", ".ubyte") if "1.ubyte" in name else labels
    found = next((each for each in (labels, f"{labels}.gz") if storage.exists(each)), "")
    if not found:
        raise ConfigError(
            f"{relative} has no classes: {labels.rpartition('/')[2]} is not there; put it beside, "
            "or leave the images out with --ignore"
        )
    return Pair(images=images, labels=found, relative=relative, split=_split_of(name) or split)


def _split_of(name: str) -> str | None:
    """The split that the name of a file of images states."""
    before = name.lower().partition("images")[0].strip("-_. ")
    return "test" if "t10k" in before else split_in_name(before) or None


def _like(one: str, other: str) -> str:
    return other.upper() if one.isupper() else other


def _check(pairs: Sequence[Pair]) -> None:
    if not pairs:
        raise ConfigError("there are files of classes and none of images; add the images' file")
    by_split: dict[str | None, Pair] = {}
    for pair in pairs:
        other = by_split.setdefault(pair.split, pair)
        if other is not pair and pair.split:
            raise ConfigError(
                f"{other.relative} and {pair.relative} both have images of {pair.split}; leave one "
                "out with --ignore"
            )


def read_pair(
    pair: Pair | Rejected | Consumed, scratch: str, classes: tuple[str, ...] = ()
) -> Iterator[Element]:
    """The records of a pair of files; a bad Rejected where they cannot be used."""
    if isinstance(pair, Rejected | Consumed):
        yield pair
        return
    try:
        labels = _labels(pair.labels)
        with storage.decompressed(pair.images) as handle:
            sizes = _sizes(handle, pair.images, (3, 4))
        if len(labels) != sizes[0]:
            raise RecordError(DAMAGED, f"{sizes[0]:,} images and {len(labels):,} classes")
        head = _image_head(sizes, pair.images)
        path = unpacked(pair.images, "images", scratch, _images(pair.images, head))
    except RecordError as error:
        yield Rejected.of(pair.relative, error)
        return
    yield DeclaredClasses(feature="label", names={n: str(n) for n in sorted({*labels})})
    length = len(head) + math.prod(sizes[1:])
    for number, label in enumerate(labels):
        yield Record(
            key=f"{pair.relative}#{number}",
            features={
                "image": Image(file=FileRef(path=path, offset=number * length, length=length)),
                "label": ClassLabel(named_class(str(label), classes)),
            },
            split=pair.split,
        )


def _sizes(handle: Any, path: str, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes by axis that an idx file states, behind which its values begin.

    Raises:
        RecordError: "damaged idx file" or "unsupported idx file".
    """
    name = path.rpartition("/")[2]
    start = handle.read(4)
    if len(start) < 4 or start[:2] != b"\0\0":
        raise RecordError(DAMAGED, f"{name} begins with {start!r}, not as idx files do")
    if start[2] != _UBYTE or start[3] not in axes:
        raise RecordError(
            UNSUPPORTED,
            f"{name} has values of type {start[2]:#04x} with {start[3]} axes, where bytes with "
            f"{' or '.join(map(str, axes))} are read; save it as .npz",
        )
    stated = handle.read(4 * start[3])
    if len(stated) < 4 * start[3]:
        raise RecordError(DAMAGED, f"{name} ends within its header")
    sizes = struct.unpack(f">{start[3]}L", stated)
    if sizes[0] > _MAX_RECORDS or not all(0 < size <= _MAX_SIDE for size in sizes[1:]):
        raise RecordError(DAMAGED, f"{name} states the sizes {sizes}")
    return sizes


def _labels(path: str) -> bytes:
    """The class of every image."""
    with storage.decompressed(path) as handle:
        [number] = _sizes(handle, path, (1,))
        data = bytes(handle.read(number + 1))
    if len(data) != number:
        raise RecordError(DAMAGED, f"{path.rpartition('/')[2]} has not its {number:,} values")
    return data


def _image_head(sizes: tuple[int, ...], path: str) -> bytes:
    """What stands before the pixels in a PGM or PPM file."""
    if len(sizes) == 4 and sizes[3] != 3:
        raise RecordError(
            UNSUPPORTED, f"{path.rpartition('/')[2]} has images of {sizes[3]} channels; save .npz"
        )
    return b"P%d\n%d %d\n255\n" % (6 if len(sizes) == 4 else 5, sizes[2], sizes[1])


def _images(path: str, head: bytes) -> Iterator[bytes]:
    """The images as PGM or PPM files, one after the other."""
    name = path.rpartition("/")[2]
    with storage.decompressed(path) as handle:
        number, *rest = _sizes(handle, path, (3, 4))
        size = math.prod(rest)
        step = max(1, min(_RECORDS_AT_ONCE, (1 << 22) // size))
        while number:
            data = handle.read(size * min(step, number))
            if not data or len(data) % size:
                raise RecordError(DAMAGED, f"{name} ends before its last image does")
            number -= len(data) // size
            yield b"".join(head + data[at : at + size] for at in range(0, len(data), size))
        if handle.read(1):
            raise RecordError(DAMAGED, f"bytes follow the images of {name}")


def claim_idx(tree: Tree, config: BuildConfig) -> Claim | None:
    """Files of images by their names."""
    files = sorted(filter(is_images, tree.files()))
    if not files or (not tree.is_folder and len(files) < len(tree.files())):
        return None
    splits = sorted({_split_of(file.rpartition("/")[2]) or "" for file in files} - {""})
    stated = f" in {', '.join(splits)}" if splits else ""
    what = files[0] if tree.is_file else shown(files, "file") + stated
    return Claim(layout="idx", rank=Rank.CONTAINER, path=tree.input, understood=(("files", what),))


LAYOUT = Layout(
    name="idx",
    sign="*-images-idx3-ubyte and *-labels-idx1-ubyte, or .gz",
    **read_by(ReadIdx),
    claim=claim_idx,
)
