"""Columns of tables: options about them, and their usual names by content.

Names are compared ignoring case; the first name of a list that a table has is used.
"""

import dataclasses
import difflib
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.kinds.numbers import Number
from beam_pipeline.sources.tables.types import CommaColumns
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.options import all_options

NO_LABEL = "none"


@dataclasses.dataclass(kw_only=True)
class ValueOptions:
    """Options for columns, extensions and names; empty ones are detected from the data.

    Attributes:
        label_column: The column of classes, or several as "color,shape"; "none" if there are no
            classes.
        ignore_columns: Columns to leave out; also attributes of boxes, as "objects.area".
        classes: Names of classes that are written as numbers.
        schema: The features to read, leaving out all others; empty detects them.
        missing_number: Replaces a missing number; a column with NaN is float32. None rejects the
            row.
    """

    label_column: str = ""
    ignore_columns: Sequence[str] = ()
    classes: Sequence[str] = ()
    schema: Sequence[Feature] = ()
    missing_number: Number | None = math.nan

    @property
    def labels(self) -> list[str]:
        """The columns that the user names as classes."""
        if self.label_column == NO_LABEL:
            return []
        return [name.strip() for name in self.label_column.split(",") if name.strip()]


def value_options(source: ValueOptions) -> ValueOptions:
    """Copy the value options of a source."""
    names = [field.name for field in dataclasses.fields(ValueOptions)]
    return ValueOptions(**{name: getattr(source, name) for name in names})


@dataclasses.dataclass(kw_only=True)
class TableOptions(ValueOptions):
    """Options for tables; empty ones are detected from names and values of columns.

    Attributes:
        image_root: The folder that files' paths are relative to; default: the table's folder.
        image_column, audio_column, split_column: Names of columns.
        box_format: One of `objects.FORMATS`; "" is what names of columns state, in pixels.
        missing_values: Texts that mean a missing value, such as "NA".
        image_template: The image's path, made from columns: "train/{id}.png".
        decimal_comma: Whether "1,5" is a number in all columns, or the columns in which it is.
        label_separator: Separates the classes of a record; "none" if a text is one class; ""
            detects it.
        allow_outside: Folders outside the input whose files may also be named.
    """

    image_root: str = ""
    image_column: str = ""
    audio_column: str = ""
    split_column: str = ""
    box_format: str = ""
    missing_values: Sequence[str] = ()
    image_template: str = ""
    decimal_comma: CommaColumns = False
    label_separator: str = ""
    allow_outside: Sequence[str] = ()


# Names of columns of files of any kind.
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
SPLIT = ("split", "set", "subset", "partition", "ml_use")
# Texts of an image with several rows, and numbers of these rows.
CAPTIONS = ("caption", "captions", "comment", "sentence", "text", "description")
NUMBERS = (
    "caption_number", "comment_number", "sentence_number", "caption_id", "comment_id",
    "sentence_id", "caption_index", "sentence_index", "number", "index", "id",
)  # fmt: skip
WIDTH = ("width", "image_width", "img_width")
HEIGHT = ("height", "image_height", "img_height")

# Four columns that hold one box in pixels, by the box format that their names state.
_CORNERS = {
    "xyxy": (
        "xmin,ymin,xmax,ymax", "x_min,y_min,x_max,y_max", "x1,y1,x2,y2",
        "roi.x1,roi.y1,roi.x2,roi.y2", "left,top,right,bottom",
        "bbox_xmin,bbox_ymin,bbox_xmax,bbox_ymax", "bbox_x1,bbox_y1,bbox_x2,bbox_y2",
        "upper left corner x,upper left corner y,lower right corner x,lower right corner y",
    ),
    "xywh": (
        "x,y,w,h", "bbox_x,bbox_y,bbox_w,bbox_h", "bbox_x,bbox_y,bbox_width,bbox_height",
        "x,y,width,height", "left,top,width,height",
    ),
    "center_xywh": ("x_center,y_center,width,height", "x_center,y_center,w,h", "cx,cy,w,h"),
}  # fmt: skip
CORNERS = tuple(
    (tuple(names.split(",")), box_format)
    for box_format, several in _CORNERS.items()
    for names in several
)
# One column that holds a box or, in JSON only, all boxes of an image.
BOXES = ("boxes", "bboxes", "bbox", "box", "objects")
# One column of run lengths of a mask, as in Kaggle's competitions.
RUN_LENGTHS = (
    "encodedpixels", "encoded_pixels", "rle", "rlemask", "rle_mask", "segmentationrle",
    "segmentation_rle", "maskrle", "mask_rle",
)  # fmt: skip
_FEW_NAMES = 20  # in a message
# This project's names for attributes of boxes, by column.
_ATTRIBUTE_NAMES = {"iscrowd": "is_crowd"}


class LabelNames:
    """Names of columns and members that hold classes, by the object they describe."""

    # The class of a record; further names in tables; lists of classes.
    of_record = (
        "label", "class", "category", "class_name", "label_name", "category_name", "target",
        "class_label", "labels",
    )  # fmt: skip
    of_tables = (
        *of_record, "labelname", "class_id", "classid", "breed", "diagnosis", "dx",
        "annotation tag", "finding labels", "finding_labels",
    )  # fmt: skip
    lists_of_record = (*of_record, "classes", "categories", "class_names", "label_names")
    # Arrays with the class of each row.
    of_rows = (
        *of_record[:-1], "y", "labels", "targets", "classes", "categories", "class_labels",
    )  # fmt: skip
    # Lists next to the list of boxes.
    beside_boxes = ("box_labels", "labels", "categories", "classes", "category", "label", "class")
    # Members of Hugging Face's `objects`, and of lists of objects.
    in_boxes = (
        "label", "labels", "category", "categories", "class", "classes", "class_name",
        "category_name", "name", "category_id",
    )  # fmt: skip


LABELS = LabelNames()


def joined_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Join the cells of each column in several header rows by "_", leaving out empty ones.

    An empty cell above another header row continues the cell to its left, as merged cells do.
    """
    *above, last = rows
    filled = [[*itertools.accumulate(row, _right_of)] for row in above]
    columns = zip(*filled, last, strict=True)
    return ["_".join(dict.fromkeys(filter(None, cells))) for cells in columns]


def _right_of(left: str, cell: str) -> str:
    return cell or left


def attribute_name(column: str) -> str:
    """Return the attribute of boxes for `column`."""
    return _ATTRIBUTE_NAMES.get(column, column)


def lowered(name: str) -> str:
    """Normalize a column's name to the form of the lists above."""
    return name.strip().lower()


def first(wanted: Iterable[str], names: Mapping[str, str]) -> str:
    """Return the first of `wanted` in `names`, as the table writes it, else ""."""
    return next((names[name] for name in wanted if name in names), "")


def there_are(wanted: str, names: Collection[str]) -> str:
    """List the existing names, for an error about a missing one."""
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    few = ", ".join(map(repr, itertools.islice(names, _FEW_NAMES))) or "none"
    more = f", … ({len(names):,})" if len(names) > _FEW_NAMES else ""
    return f"there are {few}{more}{hint}"


def checked(part: str, name: str, usable: Collection[str]) -> str:
    """Return the column that the user names for a part; raise ConfigError if it does not exist."""
    if name and name not in usable:
        option = all_options(BuildConfig)[f"{part}_column"].label
        raise ConfigError(f"{option}: {name!r} is not a column; {there_are(name, usable)}")
    return name


def check_ignored(ignored: Iterable[str], names: Collection[str]) -> None:
    """Raise ConfigError if a column to leave out does not exist, as after a typo."""
    for name in sorted(ignored):
        if name not in names:
            raise ConfigError(f"--ignore-columns {name!r} is not there; {there_are(name, names)}")
