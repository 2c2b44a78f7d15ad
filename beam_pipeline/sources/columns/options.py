"""What a user says of a table: said here once, and handed on whole."""

import dataclasses
from collections.abc import Sequence

from tfrecord_dataset.feature import Feature


@dataclasses.dataclass(kw_only=True)
class TableOptions:
    """What a user says of columns and values; empty where their names and values tell.

    Attributes:
        image_root: What the files' paths are relative to; default: the table's folder.
        image_column, audio_column, split_column: Columns by name.
        label_column: Likewise; several as "color,shape".
        box_format: One of `objects.FORMATS`; "" is what the columns' names say, in pixels.
        ignore_columns: Columns to leave out; also attributes of boxes, as "objects.area".
        classes: Names of classes that are written as numbers.
        schema: What is read, and as what; empty finds out by looking.
        missing_values: Texts that stand for a missing value, such as "NA".
        image_template: The image's path, made of columns: "train/{id}.png".
        missing_number: What stands for a number that a row misses, such as NaN, so that the
            column is float32; None rejects the row.
        allow_outside: Folders elsewhere whose files may be named, too.
    """

    image_root: str = ""
    image_column: str = ""
    audio_column: str = ""
    label_column: str = ""
    split_column: str = ""
    box_format: str = ""
    ignore_columns: Sequence[str] = ()
    classes: Sequence[str] = ()
    schema: Sequence[Feature] = ()
    missing_values: Sequence[str] = ()
    image_template: str = ""
    missing_number: float | None = None
    allow_outside: Sequence[str] = ()
