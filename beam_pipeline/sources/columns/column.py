"""What the columns of a table mean: the image, the label, the boxes, …; what a user says of them.

Names are compared without regard to case; the first name of a list that a manifest has is meant.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.records import Map
from tfrecord_dataset.feature import Feature

# Names that say that there is a file, and not what it holds.
FILE = ("file_name", "filename", "path", "file", "filepath", "file_path", "uri")
IMAGE = (
    "image", "file_name", "filename", "image_path", "path", "file", "filepath", "file_path",
    "image_file", "image_file_name", "image_name", "image_uri", "uri", "img", "img_path",
)  # fmt: skip
AUDIO = (
    "audio", "audio_path", "audio_file", "audio_filepath", "audio_file_name", "audio_uri", "wav",
    "wav_path", "wav_file", "wav_filepath", "sound", "sound_path", "sound_file", "recording",
    *FILE,
)  # fmt: skip
ARRAY = ("array", *FILE)
SPLIT = ("split", "set", "subset", "ml_use")
# A text of an image that is in several rows, and what numbers such rows.
CAPTIONS = ("caption", "captions", "comment", "sentence", "text", "description")
NUMBERS = (
    "caption_number", "comment_number", "sentence_number", "caption_id", "comment_id",
    "sentence_id", "caption_index", "sentence_index", "number", "index", "id",
)  # fmt: skip
WIDTH = ("width", "image_width", "img_width")
HEIGHT = ("height", "image_height", "img_height")

# Four columns that hold one box, and the format that their names state, in pixels.
CORNERS = (
    (("xmin", "ymin", "xmax", "ymax"), "xyxy"),
    (("x_min", "y_min", "x_max", "y_max"), "xyxy"),
    (("x1", "y1", "x2", "y2"), "xyxy"),
    (("roi.x1", "roi.y1", "roi.x2", "roi.y2"), "xyxy"),
    (("left", "top", "right", "bottom"), "xyxy"),
    (("bbox_xmin", "bbox_ymin", "bbox_xmax", "bbox_ymax"), "xyxy"),
    (("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2"), "xyxy"),
    (
        (
            "upper left corner x",
            "upper left corner y",
            "lower right corner x",
            "lower right corner y",
        ),
        "xyxy",
    ),
    (("x", "y", "w", "h"), "xywh"),
    (("bbox_x", "bbox_y", "bbox_w", "bbox_h"), "xywh"),
    (("bbox_x", "bbox_y", "bbox_width", "bbox_height"), "xywh"),
    (("x", "y", "width", "height"), "xywh"),
    (("left", "top", "width", "height"), "xywh"),
    (("x_center", "y_center", "width", "height"), "center_xywh"),
    (("x_center", "y_center", "w", "h"), "center_xywh"),
    (("cx", "cy", "w", "h"), "center_xywh"),
)
# One column that holds a box, in CSV, too; or, in JSON only, all boxes of an image.
BOXES = ("boxes", "bboxes", "bbox", "box", "objects")
# One column that holds the run lengths of a mask, as Kaggle's competitions have them; without "_".
RUN_LENGTHS = ("encodedpixels", "rle", "rlemask", "segmentationrle", "maskrle")
# The names that this project's boxes use, whatever the manifest calls them.
_ATTRIBUTE_NAMES = {"iscrowd": "is_crowd"}


@dataclasses.dataclass(frozen=True)
class LabelNames:
    """Names of columns and members that hold classes, by what they are the classes of.

    Attributes:
        of_record: The one class of a record.
        of_tables: The same in a table, whose columns are called in more ways.
        lists_of_record: Its classes, where such a column holds lists.
        of_rows: Arrays with the class of each row.
        beside_boxes: Lists beside the list of boxes.
        in_boxes: Members of Hugging Face's `objects`, and of lists of objects.
    """

    of_record: tuple[str, ...] = (
        "label", "class", "category", "class_name", "label_name", "category_name", "target",
        "class_label", "labels",
    )  # fmt: skip
    of_tables: tuple[str, ...] = (
        *of_record, "labelname", "class_id", "classid", "breed", "diagnosis", "dx",
        "annotation tag", "finding labels", "finding_labels",
    )  # fmt: skip
    lists_of_record: tuple[str, ...] = (
        *of_record, "classes", "categories", "class_names", "label_names",
    )  # fmt: skip
    of_rows: tuple[str, ...] = (
        *of_record[:-1], "y", "labels", "targets", "classes", "categories", "class_labels",
    )  # fmt: skip
    beside_boxes: tuple[str, ...] = (
        "box_labels", "labels", "categories", "classes", "category", "label", "class",
    )  # fmt: skip
    in_boxes: tuple[str, ...] = (
        "label", "labels", "category", "categories", "class", "classes", "class_name",
        "category_name", "name", "category_id",
    )  # fmt: skip


LABELS = LabelNames()


class Media(NamedTuple):
    """A column of paths.

    Attributes:
        feature: What the file's content is called in the record.
        column: The column's name.
        kind: "image", "audio" or "array".
        like: Of a map of the image, what it is but for its file; None of others.
    """

    feature: str
    column: str
    kind: str
    like: Map | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What the first rows hold, by column.

    Attributes:
        nonempty: Columns with any value.
        nested: Columns of JSON that mostly hold lists or objects.
        objects: Of these, columns of objects, of lists of objects, and the like.
        lists: Columns that hold lists, in JSON or as a CSV's text.
        media: "image", "audio" or "array" where all values end as such files' names do.
        files: Of these, columns that name at least one file that is there.
        absent: Columns called as those of files, whose values have no file's suffix and name none.
        repeated: Of these, columns that name a file in several rows.
        fours: Columns that hold lists of four numbers, as of one box.
        numbers: Columns that hold numbers alone.
        no_classes: Columns whose values are no classes, whatever their name: there is a number
            with a fraction, a list in a list, or a list with a value twice.
    """

    nonempty: Collection[str] = ()
    nested: Collection[str] = ()
    objects: Collection[str] = ()
    lists: Collection[str] = ()
    media: Mapping[str, str] = dataclasses.field(default_factory=dict)
    files: Collection[str] = ()
    absent: Collection[str] = ()
    repeated: Collection[str] = ()
    fours: Collection[str] = ()
    numbers: Collection[str] = ()
    no_classes: Collection[str] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The part that each column plays; empty where no column plays it.

    Attributes:
        key: The paths that name the records; "" where they go by their line.
        media: Columns of paths.
        labels: (feature, column) of the record's classes.
        separator: What stands between the classes of a record in the text of its label; "" where
            a text is one class.
        classes: The user's names of classes, for labels that are their numbers.
        class_names: The names of classes, by what stands for them in labels.
        unlabelled: Manifests, by their relative path, whose records may lack classes.
        split: The split.
        split_folders: Whether folders with splits' names state it.
        size: The image's width and height in pixels, as stated beside boxes.
        corners: Four numbers of one box, or one list of them; an image's boxes are then several
            rows.
        has_runs: Whether that one is run lengths of a mask, which is an object of the image.
        boxes: All boxes of the image.
        box_labels: Their classes.
        box_lists: Lists of JSON with a value for each box of the list of boxes beside.
        box_format: The format of the boxes, one of `boxes.FORMATS`; "" leaves it to the names.
        captions: A text of the image, which has several rows.
        numbers: What numbers these rows, and is not kept.
        nested: Other columns of JSON that mostly hold lists in the first rows.
        plain: Columns of JSON that mostly hold numbers or text there.
        declared: (feature, column), where a user declared what is read; the rest is left out.
        ignored: Columns, and members of boxes, to leave out.
        missing_number: What stands for a number that is missing; None if nothing does.
        optional: A number to predict, which is NaN in the tables that lack its column.
        taken: Columns that are not features of their own name.
    """

    key: str = ""
    media: tuple[Media, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    separator: str = ""
    classes: tuple[str, ...] = ()
    class_names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unlabelled: frozenset[str] = frozenset()
    split: str = ""
    split_folders: bool = False
    size: tuple[str, str] | None = None
    corners: tuple[str, ...] | None = None
    has_runs: bool = False
    boxes: str = ""
    box_labels: str = ""
    box_lists: frozenset[str] = frozenset()
    box_format: str = ""
    captions: str = ""
    numbers: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    declared: tuple[tuple[Feature, str], ...] = ()
    ignored: frozenset[str] = frozenset()
    missing_number: float | None = None
    optional: str = ""

    taken: frozenset[str] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        paths = (media.column for media in self.media)
        labels = (column for _, column in self.labels)
        roles = (self.split, self.boxes, self.box_labels, self.captions, *(self.size or ()))
        declared = (column for _, column in self.declared)
        rows = self.box_lists.union(self.corners or (), self.numbers)
        taken = self.ignored.union(paths, labels, roles, declared, rows)
        object.__setattr__(self, "taken", taken)

    @property
    def joins_rows(self) -> bool:
        """Whether the rows of an image make one record: a box or a caption each."""
        return bool(self.corners or self.captions)

    @property
    def label(self) -> str:
        """The column of the one class of a record; "" where there is none, or several."""
        return self.labels[0][1] if len(self.labels) == 1 else ""

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of the record's classes, found or declared."""
        declared = (name for feature, name in self.declared if feature.kind == "class_label")
        return (*(name for _, name in self.labels), *declared)


def attribute_name(column: str) -> str:
    """What an attribute of boxes is called that stands in `column`."""
    return _ATTRIBUTE_NAMES.get(column, column)


@dataclasses.dataclass(kw_only=True)
class ValueOptions:
    """What a user says of columns, extensions and names; empty where their values tell.

    Attributes:
        label_column: The column, or several as "color,shape", that are classes.
        ignore_columns: What to leave out; also attributes of boxes, as "objects.area".
        classes: Names of classes that are written as numbers.
        schema: What is read, and as what, and all else left out; empty finds out by looking.
        missing_number: What stands for a number that a row misses, such as NaN, so that the
            column is float32; None rejects the row.
    """

    label_column: str = ""
    ignore_columns: Sequence[str] = ()
    classes: Sequence[str] = ()
    schema: Sequence[Feature] = ()
    missing_number: float | None = None

    @property
    def labels(self) -> list[str]:
        """The columns that a user names as classes."""
        return [name.strip() for name in self.label_column.split(",") if name.strip()]


def value_options(source: ValueOptions) -> ValueOptions:
    """The options of a source alone, which workers get."""
    names = [field.name for field in dataclasses.fields(ValueOptions)]
    return ValueOptions(**{name: getattr(source, name) for name in names})


@dataclasses.dataclass(kw_only=True)
class TableOptions(ValueOptions):
    """What a user says of a table; empty where names and values of columns tell.

    Attributes:
        image_root: What the files' paths are relative to; default: the table's folder.
        image_column, audio_column, split_column: Columns by name.
        box_format: One of `objects.FORMATS`; "" is what the columns' names say, in pixels.
        missing_values: Texts that stand for a missing value, such as "NA".
        image_template: The image's path, made of columns: "train/{id}.png".
        decimal_comma: Whether "1,5" is a number.
        label_separator: What stands between the classes of a record; "none" where texts are one
            class each; "" finds out by looking.
        allow_outside: Folders elsewhere whose files may be named, too.
    """

    image_root: str = ""
    image_column: str = ""
    audio_column: str = ""
    split_column: str = ""
    box_format: str = ""
    missing_values: Sequence[str] = ()
    image_template: str = ""
    decimal_comma: bool = False
    label_separator: str = ""
    allow_outside: Sequence[str] = ()
