"""Arrays row by row: .npz and .npy files whose first axis is the records."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Rejected
from beam_pipeline.sources.arrays.files import Column, Table, find_tables
from beam_pipeline.sources.arrays.rows import (
    Piece,
    pieces_of,
    read_rows,
    read_values,
)
from beam_pipeline.sources.columns.choice import lowered, there_are
from beam_pipeline.sources.columns.class_values import WholeNumbers, whole_numbers
from beam_pipeline.sources.columns.column import LABELS
from beam_pipeline.sources.columns.options import ValueOptions
from tfrecord_dataset.feature import Feature


@dataclasses.dataclass
class ReadArrays(ValueOptions, beam.PTransform):
    """The rows of arrays: `<file>#<row>`, a feature a column.

    A column of one axis gives numbers or texts; every other one gives arrays, as byte ranges of
    the file unless they are small. Compressed arrays are unpacked into `scratch`.

    The column of a usual name (`y`, `label`, …), if it has one whole number or text a row and
    these are no measures (`class_values`), is the feature `label`, a class.

    Yields Records, and a bad Rejected for a file that cannot be used.

    Attributes:
        path: A file, a folder, or a pattern of files: `array_files.find_tables`.
        scratch: The folder for what is unpacked.
    """

    path: str
    scratch: str

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        tables, rejected = find_tables(self.path, self.ignore_columns)
        labels = find_labels(tables, self.labels)
        declared = declared_columns(tables, labels, self.schema)
        pieces = (
            pipeline
            | "Tables" >> beam.Create([*tables, *rejected])  # Table | Rejected
            | "BalanceTables" >> beam.Reshuffle()  # Table | Rejected
            | "Unpack" >> beam.FlatMap(pieces_of, self.scratch)  # Piece | Rejected
            | "BalancePieces" >> beam.Reshuffle()  # Piece | Rejected
        )
        looked_at = () if self.label_column or self.schema else tuple(labels)
        numbers = (
            pieces
            | "LookAtLabels" >> beam.Map(numbers_in, looked_at)  # WholeNumbers by column
            | "MergeLooks" >> beam.CombineGlobally(merged_numbers)  # WholeNumbers by column
        )
        return pieces | "ReadRows" >> beam.FlatMap(
            read_rows, AsSingleton(numbers), labels, tuple(self.classes), declared
        )


def find_labels(tables: Sequence[Table], named: Sequence[str] = ()) -> dict[str, str]:
    """The feature by column, of columns that may be classes.

    Raises:
        ConfigError: A column that a user names is not there, or cannot be a class.
    """
    columns = tables[0].columns if tables else {}
    named = named if tables else ()
    for name in named:
        if name not in columns:
            raise ConfigError(
                f"--label-column {name!r} is not a column; {there_are(name, columns)}"
            )
        if not all(_may_be_class(table.columns[name]) for table in tables):
            raise ConfigError(
                f"--label-column {name!r} has {columns[name].dtype} values of shape "
                f"{list(columns[name].shape)}; a class is one whole number or text per row"
            )
    if named[1:]:
        return {name: name for name in named}
    possible = {
        lowered(name): name
        for name in columns
        if all(_may_be_class(table.columns[name]) for table in tables)
    }
    usual = [possible[name] for name in LABELS.of_rows if name in possible]
    # What is called so already keeps the name.
    return {name: name if "label" in columns else "label" for name in (named or usual)[:1]}


def _may_be_class(column: Column) -> bool:
    return np.dtype(column.dtype).kind in "biuUS" and math.prod(column.shape[1:]) == 1


def declared_columns(
    tables: Sequence[Table], labels: Mapping[str, str], schema: Sequence[Feature]
) -> tuple[tuple[Feature, str], ...]:
    """The column of every feature that a user declared.

    Raises:
        ConfigError: There is none.
    """
    if not tables:
        return ()
    columns = tables[0].columns
    by_feature = {feature: column for column, feature in labels.items()}
    declared = []
    for feature in schema:
        column = feature.name if feature.name in columns else by_feature.get(feature.name)
        if column is None:
            raise ConfigError(
                f"--schema declares {feature.name!r}, which is not a column; "
                f"{there_are(feature.name, columns)}"
            )
        declared.append((feature, column))
    return tuple(declared)


def numbers_in(piece: Piece | Rejected, columns: Sequence[str]) -> dict[str, WholeNumbers]:
    """What some columns of a piece hold, which may be classes."""
    if isinstance(piece, Rejected):
        return {}
    return {
        name: whole_numbers(read_values(piece.columns[name], piece.start, piece.stop).ravel())
        for name in columns
    }


def merged_numbers(found: Iterable[Mapping[str, WholeNumbers]]) -> dict[str, WholeNumbers]:
    """What the columns of all pieces hold."""
    merged: dict[str, WholeNumbers] = {}
    for each in found:
        for name, numbers in each.items():
            merged[name] = merged.get(name, WholeNumbers()).and_of(numbers)
    return merged
