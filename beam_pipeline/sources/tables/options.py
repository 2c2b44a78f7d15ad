"""Options of tables, and of other sources whose values are like those of tables."""

import dataclasses
from collections.abc import Sequence

from tfrecord_dataset.format.feature import Feature

NO_LABEL = "none"


@dataclasses.dataclass(kw_only=True)
class ValueOptions:
    """What a user says of columns, extensions and names; empty where their values tell.

    Attributes:
        label_column: The column, or several as "color,shape", that are classes; "none" if no
            column is.
        ignore_columns: What to leave out; also attributes of boxes, as "objects.area".
        classes: Names of classes that are written as numbers.
        schema: What is read, and as what, and all else left out; empty finds out by looking.
        missing_number: Replaces a missing number, such as NaN, so that the column is float32;
            None rejects the row.
    """

    label_column: str = ""
    ignore_columns: Sequence[str] = ()
    classes: Sequence[str] = ()
    schema: Sequence[Feature] = ()
    missing_number: float | None = None

    @property
    def labels(self) -> list[str]:
        """The columns that a user names as classes."""
        if self.label_column == NO_LABEL:
            return []
        return [name.strip() for name in self.label_column.split(",") if name.strip()]


def value_options(source: ValueOptions) -> ValueOptions:
    """Return the options of a source without the source."""
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
        label_separator: Separates the classes of a record; "none" if texts are one class each;
            "" finds out by looking.
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
