"""Files of row groups as tables: their positions are the numbers of the groups.

Images, audio and long texts of a group may be compressed with others of their column, and are then
no ranges of the file: they are unpacked once, into the build's scratch folder, where records refer
to them.
"""

import contextlib
import dataclasses
import functools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy
import pyarrow as pa
import pyarrow.compute as pc

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.sources.columnar.forms import features_of, form_of
from beam_pipeline.sources.columnar.row_groups import Open, RowGroups
from beam_pipeline.sources.manifest.feature_columns import is_long
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES
from beam_pipeline.sources.manifest.table import BATCH_ROWS, RANGE_BYTES, Batch, Range, Table
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.unpacking import place_of, with_ranges

# Rows with files, of which a few may be megabytes each, that are in memory at once.
_ROWS_WITH_FILES = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnarTable(Table):
    """One file of row groups.

    Attributes:
        open_file: Opens it.
        scratch: The folder for what is unpacked; "" where files are not asked for.
    """

    has_sources: ClassVar[bool] = False

    open_file: Open
    scratch: str = ""
    numbering: tuple[str, int] = ("#", 0)

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """As `Table.ranges`: a group of rows each."""
        path = with_ranges(self.manifest.path, scratch) if scratch else self.manifest.path
        with self.open_file(path) as file:
            count = file.num_groups
        manifest = dataclasses.replace(self.manifest, path=path)
        table = dataclasses.replace(self, manifest=manifest, scratch=scratch)
        return [Range(table, group, group + 1) for group in range(count)]

    def bare(self, only: Collection[str] = ()) -> Table:
        """As `Table.bare`."""
        return dataclasses.replace(self, scratch="")

    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """As `Table.batches`."""
        with self.open_file(self.manifest.path) as file:
            first = 0
            for group in range(start, min(end, file.num_groups)):
                num_rows = file.num_rows(group)
                for batch in self._rows_of(file, group):
                    yield dataclasses.replace(
                        batch,
                        lines=range(first, first + len(batch)),
                        next_line=first + len(batch),
                        next_offset=group + 1,
                    )
                    first += len(batch)
                if not num_rows:
                    yield Batch(columns={}, lines=(), next_line=first, next_offset=group + 1)

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """As `Table.skim`."""
        with self.open_file(self.manifest.path) as file:
            end = min(end, file.num_groups)
            return sum(map(file.num_rows, range(start, end))), end

    def cell(self, column: str) -> Callable[[bytes], Any]:
        """As `Table.cell`."""
        return functools.partial(_long_value, column=column)

    def _rows_of(self, file: RowGroups, group: int) -> Iterator[Batch]:
        """The rows of a group; what is unpacked of them lies there before they are given."""
        files = [name for name, form in self.forms.items() if form.media and self.scratch]
        names = [name for name, form in self.forms.items() if not form.media]
        num_rows = _ROWS_WITH_FILES if files else BATCH_ROWS
        read = file.batches(group, [*names, *files], num_rows)
        if not self.scratch:
            yield from (self._batch(rows, {}) for rows in read)
            return
        path = place_of(self.manifest.path, str(group), self.scratch)
        unpacked = _Unpacked(path, file.place)
        with unpacked.writing():
            batches = [
                self._batch(rows, {name: unpacked.files(rows[name]) for name in files})
                for rows in read
            ]
            batches = [unpacked.long_values(batch, names) for batch in batches]
        yield from batches

    def _batch(self, rows: pa.RecordBatch, files: Mapping[str, list[Any]]) -> Batch:
        columns = {}
        for name, form in self.forms.items():
            if form.media:
                columns[name] = files.get(name) or [None] * len(rows)
            else:
                with naming(f"column {name!r}"):
                    columns[name] = form.convert(rows[name])
        self.cells.prepare(columns, None)
        return Batch(columns=columns, lines=range(len(rows)))


class _Unpacked:
    """What is unpacked of a group of rows, in one file; made once.

    Args:
        path: Of the file.
        place: Where values lie that need not be unpacked.
    """

    def __init__(self, path: str, place: Callable[[int, int], FileRef | None]):
        self.path = path
        self._place = place
        self._end = 0
        self._handle: Any = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While the contents come, in the same order each time; they are written if need be."""
        if storage.exists(self.path):
            yield
            return
        with storage.writing(self.path) as self._handle:
            yield

    def files(self, column: Any) -> list[FileRef | str | None]:
        """Where the files of a column lie: in the table, here, at a path, or nowhere."""
        paths = [None] * len(column)
        if pa.types.is_struct(column.type):
            names = [column.type.field(number).name for number in range(column.type.num_fields)]
            paths = pc.struct_field(column, "path").to_pylist() if "path" in names else paths
            column = pc.struct_field(column, "bytes")
        column = column.cast(pa.large_binary())
        _, offsets, content = column.buffers()
        ends = numpy.frombuffer(offsets, numpy.int64)[column.offset :][: len(column) + 1].tolist()
        places: list[FileRef | str | None] = []
        for number, (is_there, path) in enumerate(
            zip(column.is_valid().to_pylist(), paths, strict=True)
        ):
            if is_there:
                places.append(self._file(content, ends[number], ends[number + 1]))
            else:
                places.append(path or None)
        return places

    def _file(self, content: pa.Buffer, start: int, end: int) -> FileRef:
        in_table = self._place(content.address + start, end - start)
        return in_table or self._put(memoryview(content)[start:end])

    def long_values(self, batch: Batch, names: Sequence[str]) -> Batch:
        """The rows with references to those of their values that are long."""
        lengths, offsets = [], []
        for values in zip(*(batch.columns[name] for name in names), strict=True):
            long = {
                name: value for name, value in zip(names, values, strict=True) if is_long(value)
            }
            place = self._put(json.dumps(long).encode()) if long else FileRef(path="", length=0)
            offsets.append(place.offset)
            lengths.append(place.length or 0)
        if not any(lengths):
            return batch
        return dataclasses.replace(batch, offsets=offsets, lengths=lengths, path=self.path)

    def _put(self, data: Any) -> FileRef:
        place = FileRef(path=self.path, offset=self._end, length=len(data))
        if self._handle:
            self._handle.write(data)
        self._end += len(data)
        return place


def _long_value(data: bytes, column: str) -> Any:
    return json.loads(data)[column]


def look_into(manifest: Manifest, open_file: Open, ignored: Sequence[str]) -> ColumnarTable:
    """A file as a table of its columns, but for those that are ignored.

    Raises:
        RecordError: "damaged file": it cannot be read; "unsupported column": no feature can be
            made of one.
    """
    try:
        with open_file(manifest.path) as file, naming(name_of(manifest.path)):
            names = tuple(file.schema.names)
            if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise RecordError(
                    "unsupported column", f"two columns are called {twice[0]!r}; rename one"
                )
            features = features_of(file.schema)
            forms = {
                field.name: form_of(
                    field, features.get(field.name), functools.partial(_begin, file, field.name)
                )
                for field in file.schema
                if field.name not in ignored
            }
    except DataError as error:
        raise RecordError("damaged file", str(error)) from error
    return ColumnarTable(manifest=manifest, header=names, forms=forms, open_file=open_file)


def _begin(file: RowGroups, column: str) -> bytes:
    """The first bytes of the first value that a column of files has."""
    for group in range(file.num_groups):
        for rows in file.batches(group, [column], _ROWS_WITH_FILES):
            values = rows[column]
            if pa.types.is_struct(values.type):
                values = pc.struct_field(values, "bytes")
            for value in values.drop_null():
                return bytes(value.as_buffer()[:64])
    return b""
