"""Options of tables, and of other sources with similar values."""

import dataclasses
from collections.abc import Sequence

from tfrecord_dataset.format.feature import Feature

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
        decimal_comma: Whether "1,5" is a number.
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
    decimal_comma: bool = False
    label_separator: str = ""
    allow_outside: Sequence[str] = ()
