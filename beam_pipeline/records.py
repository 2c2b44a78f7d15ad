"""The values that flow through the pipeline: references and annotations, never payload bytes.

A source yields `Record`s, `Rejected`s for what it cannot use, `Consumed` for files that it read
but that are not a record's, and one `DeclaredClasses` for each class feature whose classes the
layout declares. All of them may be mixed in one PCollection.

None has slots: records are pickled several times on their way, and a frozen dataclass with
slots takes twice as long there (21 µs against 9 for a labelled image, both ways).
"""

import dataclasses
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from beam_pipeline.errors import RecordError
from tfrecord_dataset.image_size import ImageSize


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListSummary:
    """Summary of a list in an existing Example.

    One number and one short text are their own summary: an int, a float, a str.

    Attributes:
        kind: The list's: "int64", "float32" or "bytes"; "" where none is set.
        minimum, maximum: Of numbers; None where there are none, or only NaN.
        finite_range: The same of finite numbers, where some are infinite.
        not_finite: How many numbers are NaN or infinite.
        form: What one bytes value is by its first bytes: "jpeg", "png", "bmp", "gif", "wav",
            "flac", "ogg"; else "text" or "raw"; "" of an empty one.
        num_bytes, num_characters: Of one bytes value, and of a text.
        sha256: Hex digest of an image or audio, once inspected.
        shape: (height, width) in pixels of an image, (samples, channels) of audio, as stored.
        names: Class numbers with their names, if these are stored, too.
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

    `form` is "image" or "audio" if its values are encoded so, else "".
    """

    kind: str
    form: str
    source: str


class Mask(NamedTuple):
    """The pixels of one object, as COCO's compressed run lengths down each column from the left."""

    size: ImageSize
    counts: bytes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Objects:
    """The n ≥ 0 objects of one image: columns of n values each, in one order.

    A source states what the annotation says; Inspect turns it into format "rel_xyxy",
    clipped, in the frame of the stored image (`kinds.boxes`).

    Attributes:
        boxes: Bounding boxes: n rows of four numbers, in `format`. Once inspected, `Boxes`, as
            sources may give them, too.
        format: One of `kinds.boxes.FORMATS` (Keras's names): "xyxy", "xywh", "center_xywh" in
            pixels, or the same with the prefix "rel_" in fractions of the image.
        labels: n class names; empty when the objects have no classes.
        attributes: More facts of each object, n values a name: "difficult", "is_crowd"
            (ints), "area" (float, pixels²), ….
        keypoints: n rows of (x, y, visibility) triples one after the other, x and y in
            the unit of `format`; empty when there are none.
        keypoint_names: Of the points of each object, in their order; empty where they have none.
        keypoint_flips: For each point the number of the one that it is in a mirror: of a left eye
            the right one's; empty where that is not known.
        polygons: n outlines of any number of rings each, a ring x, y of one corner after the other
            in the unit of `format`; empty when there are none. They are never clipped. Once
            inspected, `Outlines`, as sources may give them, too.
        rotated: n boxes that are not upright, x, y of their four corners in turn in the unit of
            `format`, () for one that is upright; empty when all are.
        masks: n masks, None for the pixels that the object's polygons surround; empty when no
            object has one.
        image_size: The size that the annotation states, if it does; once inspected, of the image
            as stored.
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
    """A name in Unicode's form NFC: "é" may be one character or two, and macOS writes two."""
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
        bits: 16 of a PNG with so many for each sample, but for grey with alpha; else 8.
        conversions: Why the stored bytes differ from the file's; empty when they do not.
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
        file: An encoded image of one channel, or of colours that stand for classes.
        shows: "classes" or "depth".
        colors: Red, green and blue of each class in order, where pixels are colours; empty where
            they are numbers themselves.
        classes: The class of each of these colours, 255 for the ignored one, if they are not in the
            order of the classes, as in a map with a colour for each object; otherwise empty.
        num_classes: Number of classes; 0 if unknown.
        numbers: The classes that it shows, without the one that is ignored.
        width, height: Pixels, of the upright map as stored.
        orientation: EXIF's, 1 to 8, by which it is turned together with its image.
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
        dtype: NumPy's name: "int64", "float32", "uint8", …; "" while `file` is a .npy or .npz
            file that nobody has opened yet.
        shape: Sizes by axis.
        data: The values, little-endian, in C order; empty where `file` has them.
        file: A .npy or .npz file of one array where `dtype` is "" or where `conversions` are;
            else a range that holds only the values, as `data` would.
        minimum, maximum: Of the values, once inspected; None where there are none, or no number.
        finite_range: The same of finite values, where some are infinite.
        not_finite: How many values are NaN or infinite, once inspected.
        num_rounded: How many values change in float32, or changed when they were made float32.
        rounded: The one of these nearest to 0; None if there is none.
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
    """The bytes of a file, whatever they are, and their number, once inspected."""

    file: FileRef
    num_bytes: int = 0


@dataclasses.dataclass(frozen=True, repr=False)
class ClassLabel:
    """A class by its name; its number is known once all names are."""

    name: str

    def __repr__(self) -> str:
        """As dataclasses write it, in a third of the time: contents are compared by it."""
        return f"ClassLabel(name={self.name!r})"


@dataclasses.dataclass(frozen=True)
class ClassLabels:
    """Any number of classes by their names: a record of several labels."""

    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Deferred:
    """A value in a byte range of a file, which is read only where it is needed.

    A source gives long texts and lists so: between the stages that read them no memory holds
    them.

    Attributes:
        file: The range. Values of one record may share it, as those of one row do.
        read: Makes the value from the bytes of the range: a function of a module, or a
            functools.partial of one, so that it pickles by its name. It may raise RecordError.
    """

    file: FileRef
    read: "Callable[[bytes], Value]"


Scalar = int | float | str | bytes
Labels = ClassLabel | ClassLabels | Objects
# A tuple of strings is a sequence of them; one of numbers is an Array.
Media = Image | Map | Audio
Value = Media | Array | RawFile | ListSummary | Labels | Scalar | tuple[str, ...] | Deferred


def file_of(value: Value) -> FileRef | None:
    """The file that holds `value`, if one does."""
    file: FileRef | None = getattr(value, "file", None)  # asked several times of every value
    return file


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One example, before it is checked and afterwards.

    Attributes:
        key: Unique in the dataset and stable from run to run: the path relative to the
            input, with forward slashes, or what the layout has instead. It decides the
            record's place, and becomes `image/filename`.
        features: Values by feature name. The names "image", "audio", "label" (a ClassLabel)
            and "boxes" are the usual ones; every other name is a column of the user's.
        split: The split that the layout states; None leaves it to `--split`.
        group: Records of one group share a split; None means the content's sha256.
        source: Where the record was described, for messages: "labels.csv:12". Default: key.
        source_id: `image/source_id`. Unless every record has one of its own, each one's is its
            number in the dataset.
        notes: What else its source has and how often ("not kept: pose": 1); once checked, also
            what was changed ("box clipped": 2).
        example: Of a record that is an Example already, and is written as it is, byte for byte:
            its whole frame in a TFRecord file that is not compressed. None for others.
    """

    key: str
    features: Mapping[str, Value]
    split: str | None = None
    group: str | None = None
    source: str = ""
    source_id: str = ""
    notes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    example: FileRef | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record(Entry):
    """One example as a source gives it; of an Example without features, which follow from it.

        >>> from beam_pipeline import ClassLabel, FileRef, Image, Record
        >>> image = Image(file=FileRef(path="photos/1.jpg"))
        >>> features = {"image": image, "label": ClassLabel("cat"), "age": 3}
        >>> record = Record(key="1", features=features)

    Attributes:
        expected: Of an Example, what the first records of the dataset have, by key; every record
            is held against it, unless the user declares a schema.
    """

    expected: Mapping[str, Expectation] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inspected(Entry):
    """One example once it is checked: what is written, but for the bytes of its files.

    Its features have all that their files tell. Of an Example they are `ListSummary` and other
    values by key, or by the name that a schema gives the key.

    Attributes:
        content_digest: In hex, equal for records of equal images, audio and other files, or,
            without those, for equal records.
        num_bytes: About how many bytes the record takes in a shard.
        deferred: By feature, the byte ranges of values that are not kept.
        look: Perceptual hash of its first image (`media.looks`), if requested.
    """

    content_digest: str = ""
    num_bytes: int = 0
    deferred: Mapping[str, Deferred] = dataclasses.field(default_factory=dict)
    look: int | None = None

    @classmethod
    def of(cls, record: Record | None = None, **found: Any) -> Self:
        """Return a record with what was found in it, in a quarter of the time of `__init__`."""
        inspected = object.__new__(cls)
        inspected.__dict__.update(_DEFAULTS | (record.__dict__ if record else {}) | found)
        inspected.__dict__.pop("expected", None)
        return inspected


_DEFAULTS = vars(Inspected(key="", features={}))


def alike(records: Iterable[Any]) -> list[list[Any]]:
    """Group records by their features and the classes of their values.

    What holds for a column of values is asked once for such a group.
    """
    groups: dict[Any, list[Any]] = {}
    last, group = None, list[Any]()
    for record in records:
        features = record.features
        form = (record.example is None, *features, *map(type, features.values()))
        if form != last:  # seldom: to compare is less than to look up
            last, group = form, groups.setdefault(form, [])
        group.append(record)
    return list(groups.values())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rejected:
    """Something of the input that does not become an example.

    Attributes:
        source: The record's source, or the file's path relative to the input.
        reason: A short constant phrase, counted in metadata.json: "truncated image".
        detail: What exactly was found, with the values.
        bad: Whether it counts towards `--max-bad-fraction`. Files that were never meant
            as data (a README among the images) and dropped duplicates do not.
    """

    source: str
    reason: str
    detail: str
    bad: bool = True

    @classmethod
    def of(cls, source: str, error: RecordError) -> Self:
        """Return the reject of a source with this fault."""
        return cls(source=source, reason=error.reason, detail=error.detail)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeclaredClasses:
    """The classes that a layout declares for a feature, by the layout's own number."""

    feature: str
    names: Mapping[int, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Consumed:
    """Files that a source has read and that belong to no record, such as annotation files."""

    paths: tuple[str, ...]


Element = Record | Rejected | DeclaredClasses | Consumed
InspectedElement = Inspected | Rejected | DeclaredClasses | Consumed
