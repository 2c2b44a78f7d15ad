"""The values that flow through the pipeline: references and annotations, never payload bytes.

A source yields `Record`s, `Rejected`s for unusable input, `Consumed` for files that it read
but that belong to no record, and one `DeclaredClasses` for each class feature whose classes the
layout declares. All of them may be mixed in one PCollection.

None has slots: records are pickled several times, and pickling and unpickling a frozen dataclass
with slots takes twice as long (21 µs instead of 9 for a labelled image).
"""

import dataclasses
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from beam_pipeline.errors import RecordError
from tfrecord_dataset.image_size import ImageSize


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListSummary:
    """Summary of a list in an existing Example.

    One number and one short text are their own summary: an int, a float, a str.

    Attributes:
        kind: Kind of the list: "int64", "float32" or "bytes"; "" if none is set.
        minimum, maximum: Range of the numbers; None without numbers, or with only NaN.
        finite_range: Range of the finite numbers, if some are infinite.
        not_finite: Number of values that are NaN or infinite.
        form: Format of a single bytes value by its first bytes: "jpeg", "png", "bmp", "gif", "wav",
            "flac", "ogg"; else "text" or "raw"; "" for an empty one.
        num_bytes, num_characters: Size of a single bytes value, and length of a text.
        sha256: Hex digest of an image or audio, once inspected.
        shape: (height, width) of an image in pixels, (samples, channels) of audio, as stored.
        names: Class numbers with their names, if names are stored too.
    """

    kind: str
    length: int
    minimum: float | int | None = None
    maximum: float | int | None = None
    finite_range: tuple[float | None, float | None] | None = None
    not_finite: int = 0
    form: str = ""
    num_bytes: int = 0
    num_characters: int = 0
    sha256: str = ""
    shape: tuple[int, ...] = ()
    sample_rate: int = 0
    names: tuple[tuple[int, str], ...] = ()


class Expectation(NamedTuple):
    """Kind and form of a key in the first records of a dataset, and the first record with them.

    `form` is "image" or "audio" for encoded media, else "".
    """

    kind: str
    form: str
    source: str


class Mask(NamedTuple):
    """Pixels of one object, as COCO's compressed run lengths, column by column from the left."""

    size: ImageSize
    counts: bytes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Objects:
    """The n ≥ 0 objects of one image: columns of n values in the same order.

    A source copies the annotation; Inspect converts it to format "rel_xyxy",
    clipped, in the frame of the stored image (`kinds.boxes`).

    Attributes:
        boxes: Bounding boxes: n rows of four numbers, in `format`. `Boxes` once inspected; sources
            may use it too.
        format: One of `kinds.boxes.FORMATS` (Keras's names): "xyxy", "xywh", "center_xywh" in
            pixels, or the same with the prefix "rel_" in fractions of the image.
        labels: n class names; empty if the objects have no classes.
        attributes: Further values of the objects, n per name: "difficult", "is_crowd"
            (ints), "area" (float, pixels²), ….
        keypoints: n flat rows of (x, y, visibility) triples, x and y in the unit of
            `format`; empty if there are none.
        keypoint_names: Names of an object's points, in order; empty if points have no names.
        keypoint_flips: Index of each point's mirror image, such as the right eye for the left eye;
            empty if unknown.
        polygons: n outlines with any number of rings; a ring is the flat x, y of its corners
            in the unit of `format`; empty if there are none. They are never clipped. `Outlines`
            once inspected; sources may use it too.
        rotated: n rotated boxes as x, y of their four corners in turn, in the unit of `format`;
            () for an upright box; empty if all are upright.
        masks: n masks, None for an object whose mask is the inside of its polygons; empty if no
            object has a mask.
        image_size: Image size stated by the annotation, if any; once inspected, that of the stored
            image.
    """

    boxes: Sequence[tuple[float, float, float, float]]
    format: str = "xyxy"
    labels: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[int | float | str, ...]] = dataclasses.field(
        default_factory=dict
    )
    keypoints: tuple[tuple[float, ...], ...] = ()
    keypoint_names: tuple[str, ...] = ()
    keypoint_flips: tuple[int, ...] = ()
    polygons: Sequence[Sequence[Sequence[float]]] = ()
    rotated: tuple[tuple[float, ...], ...] = ()
    masks: tuple[Mask | None, ...] = ()
    image_size: ImageSize | None = None


def composed(name: str) -> str:
    """Convert a name to Unicode's form NFC: "é" may be one character or two, as on macOS."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRef:
    """A byte range of a file.

    Attributes:
        path: Absolute path or URL that `files.storage` opens.
        offset: First byte of the range.
        length: Bytes in the range; None means up to the end of the file.
        sha256: Hex digest of the range's bytes, once inspected.
    """

    path: str
    offset: int = 0
    length: int | None = None
    sha256: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Image:
    """One image; a source gives only `file`, Inspect fills in the rest.

    Attributes:
        file: The encoded image.
        format: "jpeg", "png" or "bmp": the encoding in which it will be stored.
        width, height: Pixels, of the upright image as stored.
        channels: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha, as stored.
        bits: 16 for a PNG with 16 bits per sample, except grey with alpha; else 8.
        conversions: Why the stored bytes differ from the file's; empty if they do not.
    """

    file: FileRef
    format: str = ""
    width: int = 0
    height: int = 0
    channels: int = 0
    bits: int = 8
    conversions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Map:
    """A number for each pixel of the record's image; a source gives the first five.

    Attributes:
        file: An encoded image with one channel, or with colours that represent classes.
        shows: "classes" or "depth".
        colors: Red, green and blue of each class in order, if pixels are colours; empty if pixels
            are numbers.
        classes: The class of each colour, 255 for the ignored one, if colours are not in the
            order of the classes, as in a map with a colour per object; otherwise empty.
        num_classes: Number of classes; 0 if unknown.
        numbers: Classes that occur in the map, without the ignored one.
        width, height: Size of the upright map as stored, in pixels.
        orientation: EXIF orientation, 1 to 8, applied to the map together with its image.
        conversions: Why the stored bytes differ from the file's; empty when they do not.
    """

    file: FileRef
    shows: str = "classes"
    colors: bytes = b""
    classes: bytes = b""
    num_classes: int = 0
    numbers: tuple[int, ...] = ()
    width: int = 0
    height: int = 0
    orientation: int = 1
    conversions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audio:
    """Audio; a source gives only `file`, Inspect fills in the rest.

    Attributes:
        format: "wav", "flac", "ogg" or "mp3": the encoding in which it will be stored.
        sample_rate, num_samples, channels: As stored.
        conversions: Why the stored bytes differ from the file's; empty when they do not.
    """

    file: FileRef
    format: str = ""
    sample_rate: int = 0
    num_samples: int = 0
    channels: int = 0
    conversions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Array:
    """Numbers of one type: inline, or in a file.

    Attributes:
        dtype: NumPy's name: "int64", "float32", "uint8", …; "" until the .npy or .npz `file`
            has been opened.
        shape: Sizes by axis.
        data: The values, little-endian, in C order; empty if they are in `file`.
        file: A .npy or .npz file with one array if `dtype` is "" or `conversions` is not empty;
            else a range with only the values, as in `data`.
        minimum, maximum: Range of the values, once inspected; None if all are NaN, or none exist.
        finite_range: Range of the finite values, if some are infinite.
        not_finite: Number of values that are NaN or infinite, once inspected.
        num_rounded: Number of values that change, or have changed, in float32.
        rounded: The changed value nearest to 0; None if there is none.
        conversions: Why the stored values are not a range of the file: "compressed".
    """

    dtype: str = ""
    shape: tuple[int, ...] = ()
    data: bytes = b""
    file: FileRef | None = None
    minimum: float | int | None = None
    maximum: float | int | None = None
    finite_range: tuple[float | None, float | None] | None = None
    not_finite: int = 0
    num_rounded: int = 0
    rounded: float | int | None = None
    conversions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RawFile:
    """Bytes of a file in any format, and their number once inspected."""

    file: FileRef
    num_bytes: int = 0


@dataclasses.dataclass(frozen=True, repr=False)
class ClassLabel:
    """A class by name; numbers are assigned once all names are known."""

    name: str

    def __repr__(self) -> str:
        """Same as a dataclass's, in a third of the time; used to compare contents."""
        return f"ClassLabel(name={self.name!r})"


@dataclasses.dataclass(frozen=True)
class ClassLabels:
    """Any number of classes by name, for records with several labels."""

    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Deferred:
    """A value in a byte range of a file, read only when needed.

    Sources use it for long texts and lists, so that they stay out of memory between the stages
    that read them.

    Attributes:
        file: The range. Values of one record may share it, for instance those of a table row.
        read: Parses the value from the bytes of the range: a module-level function, or a
            functools.partial of one, so that it pickles by name. It may raise RecordError.
        is_copy: Whether the file is the build's own, which nothing changes, so that it need not be
            hashed.
    """

    file: FileRef
    read: "Callable[[bytes], Value]"
    is_copy: bool = False


_T = TypeVar("_T")


def made(value_class: type[_T], fields: Mapping[str, Any]) -> _T:
    """Return a dataclass's value of all its fields, in a quarter of the time of `__init__`.

    For classes that check nothing.
    """
    value = object.__new__(value_class)
    value.__dict__.update(fields)
    return value


def replaced(value: _T, **changes: Any) -> _T:
    """Like `dataclasses.replace`, in a quarter of the time; for classes that check nothing."""
    return made(type(value), value.__dict__ | changes)


Scalar = int | float | str | bytes
Labels = ClassLabel | ClassLabels | Objects
# A tuple of strings is a sequence of strings; numbers are an Array.
Media = Image | Map | Audio
Value = Media | Array | RawFile | ListSummary | Labels | Scalar | tuple[str, ...] | Deferred


def file_of(value: Value) -> FileRef | None:
    """Return the file that contains `value`, if any."""
    file: FileRef | None = getattr(value, "file", None)  # called several times per value
    return file


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """One example from a source; an existing Example has no features until it is inspected.

        >>> from beam_pipeline import ClassLabel, FileRef, Image, Record
        >>> image = Image(file=FileRef(path="photos/1.jpg"))
        >>> features = {"image": image, "label": ClassLabel("cat"), "age": 3}
        >>> record = Record(key="1", features=features)

    Attributes:
        key: Unique in the dataset and stable from run to run: the path relative to the
            input, with forward slashes, or the layout's own identifier. It determines the
            record's split and position, and becomes `image/filename`.
        features: Values by feature name. The names "image", "audio", "label" (a ClassLabel)
            and "boxes" are conventional; every other name is a column of the user's.
        split: The split that the layout states; None leaves it to `--split`.
        group: Records of one group share a split; None means the content's sha256.
        source: Origin of the record, for messages: "labels.csv:12". Default: key.
        source_id: `image/source_id`. Unless every record has its own, all records get their
            number in the dataset.
        notes: Number of values that were not kept ("not kept: pose": 1) and, once inspected, of
            changes ("box clipped": 2), by description.
        example: The frame of an existing Example, which is written byte for byte: a range
            of an uncompressed TFRecord file. None for other records.
        expected: For an existing Example, the content of the dataset's first records, by key; the
            record is checked against it, unless the user declares a schema.
    """

    key: str
    features: Mapping[str, Value]
    split: str | None = None
    group: str | None = None
    source: str = ""
    source_id: str = ""
    notes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    example: FileRef | None = None
    expected: Mapping[str, Expectation] = dataclasses.field(default_factory=dict)


def alike(records: Iterable[Any]) -> list[list[Any]]:
    """Group records by their features, the classes of their values, and where arrays are stored.

    A property of a whole column is then looked up once per group.
    """
    groups: dict[Any, list[Any]] = {}
    last, group = None, list[Any]()
    for record in records:
        features = record.features
        form = (record.example is None, *features, *map(type, features.values()))
        if Array in form:
            form += tuple(file_of(value) is None for value in features.values())
        if form != last:  # rare; comparing is cheaper than a lookup
            last, group = form, groups.setdefault(form, [])
        group.append(record)
    return list(groups.values())


NOT_READ = "data not read"
"""Reason for a file that may hold data and that nothing reads."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rejected:
    """A part of the input that does not become an example.

    Attributes:
        source: The record's source, or the file's path relative to the input.
        reason: A short constant phrase, counted in metadata.json: "truncated image".
        detail: The exact finding, with values.
        bad: Whether it counts towards `--max-bad-fraction`. Files that are not data
            (a README among the images) and dropped duplicates do not.
    """

    source: str
    reason: str
    detail: str
    bad: bool = True

    @classmethod
    def of(cls, source: str, error: RecordError) -> Self:
        """Return the reject of a source with this fault; bytes that are not UTF-8 are escaped."""
        source = source.encode(errors="backslashreplace").decode()
        return cls(source=source, reason=error.reason, detail=error.detail)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeclaredClasses:
    """Classes that a layout declares for a feature, by the layout's own number."""

    feature: str
    names: Mapping[int, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Consumed:
    """Files that a source has read but that belong to no record, such as annotation files."""

    paths: tuple[str, ...]


Element = Record | Rejected | DeclaredClasses | Consumed
