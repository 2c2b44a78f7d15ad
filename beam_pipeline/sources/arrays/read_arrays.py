"""Rows of arrays in .npz, .npy and HDF5 files, whose first axis is the records."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import apache_beam as beam
import numpy as np

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Consumed
from beam_pipeline.sources.arrays.array_files import find_tables, is_array
from beam_pipeline.sources.arrays.table import ArrayTable, Column
from beam_pipeline.sources.folders.structure import main_kind, structures
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.layout import Claim, Layout, claim_of_files, read_by
from beam_pipeline.sources.paths import folder
from beam_pipeline.sources.tables.names import LABELS, checked, lowered, there_are
from beam_pipeline.sources.tables.options import ValueOptions
from beam_pipeline.sources.tables.record_maker import ReadRows
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.split_names import is_split


@dataclasses.dataclass
class ReadArrays(ValueOptions, beam.PTransform):
    """Rows of arrays: `<file>#<row>`, with a feature per column.

    A column of one axis gives numbers or texts; other columns give arrays, as byte ranges of the
    file unless they are small. Compressed arrays are unpacked into `scratch`.

    A column with a usual name (`y`, `label`, …) and a whole number or text per row is the class
    `label`, unless its values are measures (`tables.labels`).

    Yields Records, and a bad Rejected for a file that cannot be used.

    Attributes:
        path: A file, a folder, or a pattern of files: `array_files.find_tables`.
        scratch: The folder for what is unpacked.
        ignored: Files that are left out.
    """

    path: str
    scratch: str
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        tables, others = find_tables(self.path, self.ignore_columns, self.ignored)
        files, _ = find_files(self.path, is_array, self.ignored)
        consumed = Consumed(paths=tuple(file.path for file in files))
        roles = roles_of(tables, self)
        return pipeline | ReadRows(tables, roles, self.scratch, [*others, consumed])


def roles_of(tables: Sequence[ArrayTable], options: ValueOptions) -> Roles:
    """Decide the role of each column, and whether the label may be a number to predict.

    Raises:
        ConfigError: A named or declared column does not exist, or cannot be a class.
    """
    labels = find_labels(tables, options.labels)
    if options.schema:
        return Roles(declared=declared_columns(tables, labels, options.schema))
    dtypes = [np.dtype(table.columns[name].dtype) for table in tables for name in labels]
    is_sure = options.label_column or any(dtype.kind not in "biu" for dtype in dtypes)
    return Roles(
        labels=tuple((feature, name) for name, feature in labels.items()),
        classes=tuple(options.classes),
        doubtful="" if is_sure or len(labels) != 1 else next(iter(labels)),
    )


def find_labels(tables: Sequence[ArrayTable], named: Sequence[str] = ()) -> dict[str, str]:
    """Map columns that may be classes to features.

    Raises:
        ConfigError: A named column does not exist, or cannot be a class.
    """
    columns = tables[0].columns if tables else {}
    named = named if tables else ()
    possible = [
        name for name in columns if all(_may_be_class(table.columns[name]) for table in tables)
    ]
    for name in named:
        if checked("label", name, columns) not in possible:
            raise ConfigError(
                f"--label-column {name!r} has {columns[name].dtype} values of shape "
                f"{list(columns[name].shape)}; a class is one whole number or text per row"
            )
    if named[1:]:
        return {name: name for name in named}
    by_name = {lowered(name): name for name in possible}
    usual = [by_name[name] for name in LABELS.of_rows if name in by_name]
    # What is called so already keeps the name.
    return {name: name if "label" in columns else "label" for name in (named or usual)[:1]}


def _may_be_class(column: Column) -> bool:
    return np.dtype(column.dtype).kind in "biuUS" and math.prod(column.shape[1:]) == 1


def declared_columns(
    tables: Sequence[ArrayTable], labels: Mapping[str, str], schema: Sequence[Feature]
) -> tuple[tuple[Feature, str], ...]:
    """Find the column of every declared feature.

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


def claim_arrays(tree: Tree, config: BuildConfig) -> Claim | None:
    """Files called .npy, .npz or .h5, more than images or audio; in no folders but splits."""
    arrays = [name for name in tree.files_of("", "array") if is_array(name)]
    if not arrays and config.layout != "arrays":
        return None
    if config.layout != "arrays" and tree.is_folder:
        by_kind = structures(tree.names())
        folders = {folder(name) for name in arrays}
        of_classes = folders != {""} and not all(map(is_split, folders))
        if of_classes or (by_kind and main_kind(by_kind) != "array"):
            return None
    return claim_of_files("arrays", tree, arrays)


LAYOUT = Layout(
    name="arrays",
    sign=".npz, .npy or .h5 files, not in one folder per class",
    **read_by(ReadArrays),
    claim=claim_arrays,
)
