"""Tables of the arrays in .npy, .npz and HDF5 files."""

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from beam_pipeline.errors import ConfigError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.files.archive.content import content_offset, open_member
from beam_pipeline.files.archive.paths import MemberLocation
from beam_pipeline.media import npz
from beam_pipeline.media.arrays import array_header, check_numbers
from beam_pipeline.media.hdf5 import StoredArray, arrays_of, is_hdf5
from beam_pipeline.records import Rejected
from beam_pipeline.sources.arrays.table import ArrayTable, Column
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import InputFile, find_files
from beam_pipeline.sources.paths import ARRAY_SUFFIXES, folder, stem, suffix
from beam_pipeline.sources.splits import without_split
from beam_pipeline.sources.tables.names import check_ignored
from beam_pipeline.sources.tables.table import TableFile

_WITH_NUMBER = re.compile(r"(?P<column>.*?)[_\-. ]?(?P<number>(?<![^_\-. ])\d+)")
# Name of an array that is called after a split or a number only.
_UNNAMED = "array"
_FIRST_UNNAMED = "arr_0"  # by np.savez


def find_tables(
    path: str, ignored: Collection[str] = (), ignored_files: Ignored = NOTHING
) -> tuple[list[ArrayTable], list[Rejected]]:
    """Find the tables of the arrays at `path`, and rejects for files that cannot be used.

    - A file of several arrays is a table; if all are named after splits (`x_train`,
      `train_labels`), it is one table per split.
    - Files of one array in the same folder and split are the columns of a table. If their names
      end with numbers (`x_0.npy`, `x_1.npy`), each number is a table.

    Args:
        path: A file, a folder, or a pattern of files.
        ignored: Columns to leave out.
        ignored_files: Files to leave out.

    Raises:
        ConfigError: There are no arrays, the arrays of a table have different numbers of rows, the
            tables have different columns, or `ignored` names no column.
    """
    files, _ = find_files(path, is_array, ignored_files)
    rejected: list[Rejected] = []
    tables: list[ArrayTable] = []
    groups = _groups(files)
    for group in groups:
        try:
            tables += _tables(group, ignored)
        except RecordError as error:
            rejected.append(Rejected.of(_name(group), error))
    if ignored and not any(reject.bad for reject in rejected):
        check_ignored(ignored, [*dict.fromkeys(itertools.chain.from_iterable(map(_names, groups)))])
    _check(tables)
    rejected += [
        Rejected(source=table.name, reason=npz.EMPTY, detail="its arrays have no rows")
        for table in tables
        if not table.num_rows
    ]
    return [table for table in tables if table.num_rows], rejected


def is_array(path: str) -> bool:
    """Whether the name is that of a file of arrays."""
    return suffix(path) in ARRAY_SUFFIXES or is_hdf5(path)


_Group = dict[str, InputFile]
"""Files of one array by column; or a file of several arrays by ""."""


def _groups(files: Sequence[InputFile]) -> list[_Group]:
    """Group files of one array each as columns by folder, split and number."""
    columns = {file: name for file in files if (name := _only_column(file))}
    groups = _grouped(columns, numbered=True)
    if _are_twice(groups) or len({frozenset(group) for group in groups}) > 1:
        groups = _grouped(columns, numbered=False)
    if _are_twice(groups):  # then files of named arrays are tables
        columns = {file: name for file, name in columns.items() if suffix(file.path) == "npy"}
        groups = _grouped(columns, numbered=False)
    tables = [_only_files(group) for group in groups]
    return [*({"": file} for file in files if file not in columns), *tables]


def _only_column(file: InputFile) -> str:
    """The name of the only array of a file: its own, else the file's; "" if there are several."""
    if suffix(file.path) == "npy":
        return stem(file.path)
    try:
        name, *others = _members(file.path)
    except RecordError:  # is rejected when its columns are looked at
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


def _name(group: _Group) -> str:
    return min(file.relative for file in group.values())


def _names(group: _Group) -> Iterator[str]:
    """Names of columns for `--ignore-columns`."""
    if "" in group:
        for name in _members(group[""].path):
            yield from (name, without_split(name)[0])
    else:
        yield from group


def _tables(group: _Group, ignored: Collection[str]) -> list[ArrayTable]:
    """Make the tables of a group of files.

    Raises:
        RecordError: A file cannot be used.
    """
    if "" in group:
        return list(_tables_of_one(group[""], ignored))
    columns = {name: _column_of_file(file) for name, file in group.items() if name not in ignored}
    split = next(iter(group.values())).split
    return [_table(_name(group), split, columns)] if columns else []


def _tables_of_one(file: InputFile, ignored: Collection[str]) -> Iterator[ArrayTable]:
    members = _members(file.path)
    bare_names = {name: without_split(name) for name in members}
    kept = {name: pair for name, pair in bare_names.items() if not {name, pair[0]} & {*ignored}}
    in_splits = all(split for _, split in kept.values())
    by_split: dict[str, dict[str, str]] = defaultdict(dict)
    for name, (short, split) in kept.items():
        names = by_split[split if in_splits else ""]
        column = (short if in_splits else name) or _UNNAMED
        if column in names:
            raise RecordError(npz.UNSUPPORTED, f"two arrays are the column {column!r}")
        names[column] = name
    for split, names in by_split.items():
        arrays = {column: members[name] for column, name in names.items()}
        columns = {
            column: _column(file.path, names[column], array, names[column])
            for column, array in arrays.items()
        }
        name = f"{file.relative}/{split}" if split else file.relative
        yield _table(name, split or file.split, columns)


def _table(name: str, split: str | None, columns: dict[str, Column]) -> ArrayTable:
    """Make a table; keys of rows begin with `name`."""
    path = next((column.path for column in columns.values()), name)
    file = TableFile(path=path, relative=name, split=split, folder="", root="")
    return ArrayTable(file=file, header=tuple(columns), columns=columns)


def _members(path: str) -> Mapping[str, MemberLocation | StoredArray]:
    """The arrays of an .npz or HDF5 file by column name."""
    if is_hdf5(path):
        arrays = arrays_of(path)
        if not arrays:
            raise RecordError(npz.UNSUPPORTED, "an HDF5 file without arrays")
        return {array.name.replace("/", "_"): array for array in arrays}
    return _members_of_npz(path)


def _members_of_npz(path: str) -> Mapping[str, MemberLocation]:
    with storage.opened(path) as handle:
        if not handle.read(1):
            raise RecordError(npz.EMPTY, "the file has no bytes")
        return npz.arrays_of(handle)


def _column_of_file(file: InputFile) -> Column:
    """The column of a file of one array."""
    if suffix(file.path) == "npy":
        return _column(file.path, "", None, file.relative)
    [(name, member)] = _members(file.path).items()
    return _column(file.path, name, member, name)


def _column(
    path: str, name: str, member: MemberLocation | StoredArray | None, shown: str
) -> Column:
    """The column of a .npy file, or of a member of an .npz or HDF5 file, `shown` in errors."""
    with naming(shown):
        if isinstance(member, StoredArray):
            return _checked_column(path, *member)
        with storage.opened(path) as handle:
            size = member.length if member else handle.seek(0, 2)
            if not size:
                raise RecordError(npz.EMPTY, "the file has no bytes")
            begin = content_offset(handle, member) if member else 0
            handle.seek(0)
            header = array_header(open_member(handle, member, name) if member else handle)
        lacking = header.offset + header.num_bytes - size
        if lacking > 0:
            raise RecordError(
                npz.TRUNCATED, f"{lacking:,} of {header.num_bytes:,} bytes are missing"
            )
        if lacking < 0:
            raise RecordError(npz.DAMAGED, f"{-lacking:,} bytes follow the values")
        is_packed = member is not None and member.method == "deflated"
        offset = None if is_packed else begin + header.offset
        return _checked_column(path, name, header.dtype.str, header.shape, offset)


def _checked_column(
    path: str, member: str, dtype: str, shape: tuple[int, ...], offset: int | None
) -> Column:
    kind = np.dtype(dtype)
    is_text = kind.kind in "US" and kind.itemsize
    if not is_text or len(shape) != 1:
        check_numbers(kind)
    if 0 in shape[1:]:
        raise RecordError(npz.UNSUPPORTED, f"rows without values: its shape is {shape}")
    return Column(path=path, member=member, dtype=dtype, shape=shape, offset=offset)


def _check(tables: Sequence[ArrayTable]) -> None:
    for table in tables:
        lengths = {
            name: f"{column.shape[0]:,}" if column.shape else "none: a number without axes"
            for name, column in table.columns.items()
        }
        if len(set(lengths.values())) > 1 or not all(c.shape for c in table.columns.values()):
            row_counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ConfigError(
                f"the arrays of {table.name} have different numbers of rows ({row_counts}); leave "
                "some out with --ignore-columns, or pass --layout folders if each file is a record"
            )
    for table in tables[1:]:
        if table.columns.keys() != tables[0].columns.keys():
            one, other = (", ".join(sorted(each.columns)) for each in (tables[0], table))
            raise ConfigError(
                f"{tables[0].name} has the columns {one}, and {table.name} has {other}; give them "
                "the same, or leave some out with --ignore-columns"
            )
