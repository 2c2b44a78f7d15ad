"""Read the rows of arrays in .npz, .npy and HDF5 files, one record per row."""

import dataclasses
import itertools
import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import apache_beam as beam
import numpy as np

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.files.archive.content import content_offset
from beam_pipeline.files.archive.member_paths import inside
from beam_pipeline.media import numpy_files
from beam_pipeline.media.hdf5 import StoredArray, arrays_of, is_hdf5, values_of
from beam_pipeline.records import Array, Consumed, FileRef, Rejected, Value
from beam_pipeline.sources.folders.structure import main_structure, structures
from beam_pipeline.sources.layout import Claim, claim_of_files, source_layout
from beam_pipeline.sources.paths import ARRAY_SUFFIXES, folder, joined, stem, suffix
from beam_pipeline.sources.splits import without_split
from beam_pipeline.sources.tables.read_tables import ReadRows
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.table import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    Scratch,
    Table,
    TableFile,
)
from beam_pipeline.sources.tables.usual_columns import (
    LABELS,
    ValueOptions,
    check_ignored,
    checked,
    lowered,
    there_are,
)
from beam_pipeline.sources.tree import NOTHING, Ignored, InputFile, Tree, find_files
from beam_pipeline.sources.unpacking import blocks_as_stored, unpacked, with_ranges
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.split_names import is_split

_WITH_NUMBER = re.compile(r"(?P<column>.*?)[_\-. ]?(?P<number>(?<![^_\-. ])\d+)")
# Column name of an array that is named only after a split or a number.
_UNNAMED = "array"
_FIRST_UNNAMED = "arr_0"  # by np.savez
# Size of a reference; smaller rows travel with their records.
_INLINE_BYTES = 256


@dataclasses.dataclass(frozen=True, slots=True)
class ArrayColumn:
    """An array with one row per record.

    Attributes:
        path: The file of the values, possibly in an archive.
        dtype: NumPy dtype, little-endian: "<f4".
        shape: Sizes by axis, rows first.
        offset: Offset of the values in the file; None if an HDF5 file has them in another form.
        name: Name in an HDF5 file.
    """

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int | None
    name: str = ""

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize

    @property
    def is_inline(self) -> bool:
        """Whether the rows' values travel with the records."""
        return len(self.shape) == 1 or self.row_bytes <= _INLINE_BYTES


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArrayTable(Table):
    """Arrays of equal length as columns."""

    has_values = True
    sign = "#"

    columns: Mapping[str, ArrayColumn]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return next(iter(self.columns.values())).shape[0]

    def without(self, columns: Collection[str]) -> Table:
        kept = {name: column for name, column in self.columns.items() if name not in columns}
        return dataclasses.replace(self, columns=kept)

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """Read the rows; compressed arrays are unpacked into `scratch` once."""
        folder = scratch.folder if scratch else ""
        columns = {name: _stored(name, column, folder) for name, column in self.columns.items()}
        inline = sum(column.row_bytes for column in columns.values() if column.is_inline)
        step = max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, inline)))
        for start in range(0, self.num_rows, step):
            stop = min(start + step, self.num_rows)
            cells = {name: _cells(column, start, stop) for name, column in columns.items()}
            yield Batch(columns=cells, lines=range(start, stop))


def _stored(name: str, column: ArrayColumn, scratch: str) -> ArrayColumn:
    """Make a column readable as ranges of a file: unpack it if it is compressed."""
    path, offset, shape = column.path, column.offset, column.shape
    if offset is None:
        path, offset = unpacked(path, column.name, scratch, values_of(path, column.name)), 0
    else:
        where = inside(storage.resolved(path))
        if where and where.place and where.place.method == "stored":
            for _ in blocks_as_stored(path):  # checks the checksum, since ranges have none
                pass
            with storage.opened(where.archive) as archive:
                offset += content_offset(archive, where.place)
            path = where.archive
    if lowered(name) in LABELS.of_rows and math.prod(shape[1:]) == 1:
        shape = shape[:1]  # [n, 1], as Keras's CIFAR and scikit-learn's columns are
    path = with_ranges(path, scratch)
    return dataclasses.replace(column, path=path, offset=offset, shape=shape)


def _cells(column: ArrayColumn, start: int, stop: int) -> list[Value]:
    path, shape, size, dtype = column.path, column.shape[1:], column.row_bytes, column.dtype
    assert column.offset is not None  # it is unpacked
    begin, end = (column.offset + row * size for row in (start, stop))
    name, kind = np.dtype(dtype).name, np.dtype(dtype).kind
    if not column.is_inline:
        files = (FileRef(path=path, offset=at, length=size) for at in range(begin, end, size))
        return [Array(dtype=name, shape=shape, file=file) for file in files]
    data = storage.read_bytes(FileRef(path=path, offset=begin, length=end - begin))
    values = numpy_files.texts_or_numbers(data, np.dtype(dtype)).reshape(stop - start, *shape)
    if shape:
        return [Array(dtype=name, shape=shape, data=each.tobytes()) for each in values]
    if kind == "S":
        return [value.decode(errors="surrogateescape") for value in values.tolist()]
    cells: list[Value] = (values.view(np.uint8) if kind == "b" else values).tolist()
    return cells


def find_tables(
    files: Sequence[InputFile], ignored: Collection[str] = ()
) -> tuple[list[ArrayTable], list[Rejected]]:
    """Find the tables of files of arrays, and rejects for files that cannot be used.

    - A file of several arrays is a table; if all are named after splits (`x_train`,
      `train_labels`), it is one table per split.
    - Files of one array in the same folder and split are the columns of a table. If their names
      end with numbers (`x_0.npy`, `x_1.npy`), each number is a table.

    Raises:
        ConfigError: The arrays of a table have different numbers of rows, the tables have different
            columns, or `ignored` names no column.
    """
    rejected: list[Rejected] = []
    tables: list[ArrayTable] = []
    groups = _groups(files)
    for group in groups:
        try:
            tables += _tables(group, ignored)
        except RecordError as error:
            rejected.append(Rejected.of(min(file.relative for file in group.values()), error))
    if ignored and not any(reject.bad for reject in rejected):
        check_ignored(ignored, [*dict.fromkeys(itertools.chain.from_iterable(map(_names, groups)))])
    _check(tables)
    rejected += [
        Rejected(
            source=table.file.relative, reason=numpy_files.EMPTY, detail="its arrays have no rows"
        )
        for table in tables
        if not table.num_rows
    ]
    return [table for table in tables if table.num_rows], rejected


def is_array(path: str) -> bool:
    """Whether a file has a suffix of arrays."""
    return suffix(path) in ARRAY_SUFFIXES or is_hdf5(path)


_Group = dict[str, InputFile]
"""Files of one array by column; or a file of several arrays by ""."""


def _groups(files: Sequence[InputFile]) -> list[_Group]:
    """Group files of one array each as columns by folder, split and number."""
    columns = {file: name for file in files if (name := _only_column(file))}
    groups = _grouped(columns, numbered=True)
    if _are_twice(groups) or len({frozenset(group) for group in groups}) > 1:
        groups = _grouped(columns, numbered=False)
    if _are_twice(groups):  # files of named arrays are tables
        columns = {file: name for file, name in columns.items() if suffix(file.path) == "npy"}
        groups = _grouped(columns, numbered=False)
    tables = [_only_files(group) for group in groups]
    return [*({"": file} for file in files if file not in columns), *tables]


def _only_column(file: InputFile) -> str:
    """Name the only array of a file, after the file if it has no name; "" if there are several."""
    try:
        name, *others = _members(file.path)
    except RecordError:  # rejected when its columns are read
        return ""
    return "" if others else stem(file.path) if name == _FIRST_UNNAMED else name


def _grouped(
    columns: Mapping[InputFile, str], *, numbered: bool
) -> list[dict[str, list[InputFile]]]:
    groups: dict[tuple[str, str, str], dict[str, list[InputFile]]] = {}
    for file, name in columns.items():
        number = ""
        if numbered and (match := _WITH_NUMBER.fullmatch(name)):
            name, number = match["column"], match["number"]
        if file.split:
            name = without_split(name)[0]
        group = groups.setdefault((folder(file.relative), file.split or "", number), {})
        group.setdefault(name or _UNNAMED, []).append(file)
    return list(groups.values())


def _are_twice(groups: Iterable[dict[str, list[InputFile]]]) -> bool:
    return any(len(files) > 1 for group in groups for files in group.values())


def _only_files(group: dict[str, list[InputFile]]) -> _Group:
    for name, (file, *others) in group.items():
        if others:
            raise ConfigError(
                f"{file.relative} and {others[0].relative} both are the column {name!r}; rename one"
            )
        if len(group) == 1 and suffix(file.path) != "npy":
            return {"": file}
    return {name: file for name, [file] in group.items()}


def _names(group: _Group) -> Iterator[str]:
    """Yield the names that `--ignore-columns` may contain."""
    if "" in group:
        for name in _members(group[""].path):
            yield from (name, without_split(name)[0])
    else:
        yield from group


def _tables(group: _Group, ignored: Collection[str]) -> list[ArrayTable]:
    if "" in group:
        return list(_tables_of_one(group[""], ignored))
    columns = {}
    for name, file in group.items():
        if name not in ignored:
            [(own_name, member)] = _members(file.path).items()
            is_npy = suffix(file.path) == "npy"
            columns[name] = _column(file.path, member, file.relative if is_npy else own_name)
    first = min(group.values(), key=lambda file: file.relative)
    return [_table(first, columns)] if columns else []


def _tables_of_one(file: InputFile, ignored: Collection[str]) -> Iterator[ArrayTable]:
    members = _members(file.path)
    bare_names = {name: without_split(name) for name in members}
    kept = {name: pair for name, pair in bare_names.items() if not {name, pair[0]} & {*ignored}}
    in_splits = all(split for _, split in kept.values())
    by_split: dict[str, dict[str, ArrayColumn]] = defaultdict(dict)
    for name, (short, split) in kept.items():
        columns = by_split[split if in_splits else ""]
        column = (short if in_splits else name) or _UNNAMED
        if column in columns:
            raise RecordError(numpy_files.UNSUPPORTED, f"two arrays are the column {column!r}")
        columns[column] = _column(file.path, members[name], name)
    for split, columns in by_split.items():
        yield _table(file, columns, split)


def _table(file: InputFile, columns: dict[str, ArrayColumn], split: str = "") -> ArrayTable:
    name = joined(file.relative, split) if split else file.relative
    table_file = TableFile(
        path=file.path, relative=name, split=split or file.split, folder="", root=""
    )
    return ArrayTable(file=table_file, header=tuple(columns), columns=columns)


def _members(path: str) -> Mapping[str, str | StoredArray]:
    """Return a file's arrays by column name: paths of .npy files, or arrays of an HDF5 file."""
    if is_hdf5(path):
        stored = arrays_of(path)
        if not stored:
            raise RecordError(numpy_files.UNSUPPORTED, "an HDF5 file without arrays")
        return {array.name.replace("/", "_"): array for array in stored}
    return {stem(path): path} if suffix(path) == "npy" else numpy_files.array_files(path)


def _column(path: str, member: str | StoredArray, shown: str) -> ArrayColumn:
    """Make the column of an array in the file at `path`; errors call it `shown`."""
    with naming(shown):
        if isinstance(member, StoredArray):
            name, dtype, shape, offset = member
            column = ArrayColumn(path, dtype, shape, offset, name)
        else:
            with storage.opened(member) as handle:
                size = handle.seek(0, 2)
                if not size:
                    raise RecordError(numpy_files.EMPTY, "the file has no bytes")
                handle.seek(0)
                header = numpy_files.array_header(handle)
            numpy_files.check_length(header, size)
            column = ArrayColumn(member, header.dtype.str, header.shape, header.offset)
        kind = np.dtype(column.dtype)
        is_text = kind.kind in "US" and kind.itemsize
        if not is_text or len(column.shape) != 1:
            numpy_files.check_numbers(kind)
        if 0 in column.shape[1:]:
            raise RecordError(
                numpy_files.UNSUPPORTED, f"rows without values: its shape is {column.shape}"
            )
        return column


def _but_the_most(lengths: Sequence[Sequence[int]], columns: Sequence[str]) -> str:
    """Return the option that keeps the columns of the most frequent length, with an "or"."""
    usual = Counter(filter(None, lengths)).most_common(1)
    others = [
        column
        for column, length in zip(columns, lengths, strict=True)
        if usual and length != usual[0][0]
    ]
    return f"--ignore-columns {shlex.quote(','.join(others))} or " if others else ""


def _check(tables: Sequence[ArrayTable]) -> None:
    for table in tables:
        name, first = table.file.relative, tables[0].file.relative
        shapes = {column: each.shape for column, each in table.columns.items()}
        if len({shape[:1] for shape in shapes.values()}) > 1 or () in shapes.values():
            row_counts = ", ".join(
                f"{column} {f'{shape[0]:,}' if shape else 'none: a number without axes'}"
                for column, shape in shapes.items()
            )
            others = _but_the_most([shape[:1] for shape in shapes.values()], [*shapes])
            raise ConfigError(
                f"the arrays of {name} have different numbers of rows ({row_counts}); pass "
                f"{others}--layout folders if each file is a record"
            )
        if table.columns.keys() != tables[0].columns.keys():
            one, other = (", ".join(sorted(each.columns)) for each in (tables[0], table))
            shared = table.columns.keys() & tables[0].columns
            others = ",".join(sorted((table.columns.keys() | tables[0].columns) - shared))
            remedy = f", or pass --ignore-columns {shlex.quote(others)}" if shared else ""
            raise ConfigError(
                f"{first} has the columns {one}, and {name} has {other}; give them the same{remedy}"
            )


@dataclasses.dataclass
class ReadArrays(ValueOptions, beam.PTransform):
    """Read rows of arrays as records `<file>#<row>`, with a feature per column.

    One-dimensional columns are numbers or texts; others are arrays, as byte ranges of the file
    unless they are small. Compressed arrays are unpacked into `scratch`.

    A column with a usual name (`y`, `label`, …) and a whole number or text per row is the class
    `label`, unless its values are measures (`tables.types`).

    Yields Records, and a bad Rejected for a file that cannot be used.

    Attributes:
        path: A file, a folder, or a pattern of files.
        scratch: The folder for unpacked arrays.
        ignored: Files that are left out.
    """

    path: str
    scratch: str
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        files = find_files(self.path, is_array, self.ignored)
        tables, others = find_tables(files, self.ignore_columns)
        consumed = Consumed(paths=tuple(file.path for file in files))
        roles = roles_of(tables, self)
        return pipeline | ReadRows(tables, roles, self.scratch, [*others, consumed])


def roles_of(tables: Sequence[ArrayTable], options: ValueOptions) -> Roles:
    """Decide the role of each column; raise ConfigError if a named one cannot have its role."""
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
    """Map columns of classes to features; raise ConfigError if a named one cannot hold classes."""
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
    # An existing column `label` keeps its name.
    return {name: name if "label" in columns else "label" for name in (named or usual)[:1]}


def _may_be_class(column: ArrayColumn) -> bool:
    return np.dtype(column.dtype).kind in "biuUS" and math.prod(column.shape[1:]) == 1


def declared_columns(
    tables: Sequence[ArrayTable], labels: Mapping[str, str], schema: Sequence[Feature]
) -> tuple[tuple[Feature, str], ...]:
    """Find the column of every declared feature; raise ConfigError if there is none."""
    if not tables:
        return ()
    columns = tables[0].columns
    by_feature = {feature: name for name, feature in labels.items()} | {n: n for n in columns}
    for feature in schema:
        if feature.name not in by_feature:
            raise ConfigError(
                f"--schema declares {feature.name!r}, which is not a column; "
                f"{there_are(feature.name, columns)}"
            )
    return tuple((feature, by_feature[feature.name]) for feature in schema)


def claim_arrays(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim .npy, .npz or .h5 files that outnumber images and audio, in no folders but splits."""
    arrays = [name for name in tree.files_of("", "array") if is_array(name)]
    if not arrays and config.layout != "arrays":
        return None
    if config.layout != "arrays" and tree.is_folder:
        by_kind = structures(tree.names())
        folders = {folder(name) for name in arrays}
        of_classes = folders != {""} and not all(map(is_split, folders))
        if of_classes or (by_kind and main_structure(by_kind).kind != "array"):
            return None
    return claim_of_files("arrays", tree, arrays)


_SIGN = ".npz, .npy or .h5 files, not in one folder per class"
LAYOUT = source_layout("arrays", _SIGN, ReadArrays, claim_arrays)
