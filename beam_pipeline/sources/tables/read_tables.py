"""Read tables of any format: survey all rows, then make their records."""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.batch import RecordBatch, by_row, rows_of
from beam_pipeline.errors import ConfigError, RecordError, whole_input
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_BOXES
from beam_pipeline.problems import ProblemError
from beam_pipeline.records import Consumed, Element, Record, Rejected, Value
from beam_pipeline.running.gathering import Merge, Share
from beam_pipeline.running.pickling import fast_pickle
from beam_pipeline.sources.gather import Entry, Gather, ReadInBatches
from beam_pipeline.sources.paths import below, folder, name_of, parent, stem, suffix, uncompressed
from beam_pipeline.sources.rejects import malformed, not_kept
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tables.boxes import boxes_from_lists, boxes_from_rows, objects_from_runs
from beam_pipeline.sources.tables.columns import TableOptions
from beam_pipeline.sources.tables.convert import (
    Kinds,
    check_forms,
    converted,
    main_columns,
    other_columns,
    path_text,
    profiles_of,
)
from beam_pipeline.sources.tables.plan import TablePlan, plan_tables
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.sample import split_folder
from beam_pipeline.sources.tables.survey import (
    Other,
    Overview,
    overview,
    survey,
    with_unlabelled,
)
from beam_pipeline.sources.tables.table import Batch, Scratch, Table, TableFile
from beam_pipeline.sources.tables.types import is_stated
from beam_pipeline.sources.tree import NOTHING, Ignored, InputFile, find_files
from tfrecord_dataset.format.split_names import is_split, split_in_name

# Values in the ML_USE column of AutoML and Vertex.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"
_MAX_CAPTIONS = 10_000


@fast_pickle
class JoinedRow(NamedTuple):
    """A row with one box or caption of an image."""

    file: TableFile
    source: str  # "labels.csv:12"
    values: Mapping[str, Any]


class RecordMaker:
    """Makes records from the rows of a table; writes long values to `scratch`, if given."""

    def __init__(self, table: Table, overview: Overview, scratch: Scratch | None) -> None:
        self._table, self._file, self._scratch = table, table.file, scratch
        self._roles, self._kinds = overview.roles, overview.kinds
        self._main = main_columns(table.file, self._roles, self._kinds)
        self._others = other_columns(table, self._roles, self._kinds)

    def rows(self, batch: Batch) -> Iterator[RecordBatch | Record | Rejected]:
        """Yield rows together if possible, otherwise a record or reject per row."""
        return self._elements(batch, _rows_or_records)

    def _elements(self, batch: Batch, made_of: Callable[..., Iterable[Any]]) -> Iterator[Any]:
        for part, columns in batch.attempts(self._columns):
            if isinstance(columns, RecordError):
                yield self.reject(part.lines[0], columns)
            else:
                yield from made_of(*columns)

    def reject(self, line: int, error: RecordError) -> Rejected:
        """Make the reject of an unusable row."""
        return Rejected.of(self._table.row(line), error)

    def entries(self, batch: Batch) -> Iterator[Entry | Rejected]:
        """Yield entries keyed by main file: rows to join, or elements."""
        joins = self._roles.joins_rows
        elements = self._joined(batch) if joins else self._elements(batch, _records)
        names = batch.columns.get(self._roles.key) or [None] * len(batch)
        for line, name, element in zip(batch.lines, names, elements, strict=True):
            try:
                key = element.key if isinstance(element, Record) else self._key(name, line)
            except RecordError as error:
                yield self.reject(line, error)
            else:
                yield Entry(key, (self._file.relative, line), element)

    def _joined(self, batch: Batch) -> Iterator[JoinedRow]:
        for line, values in zip(batch.lines, batch.by_row(), strict=True):
            yield JoinedRow(self._file, self._table.row(line), values)

    def _key(self, name: Any, line: int) -> str:
        """Return the path of the record's main file, or its place in the table."""
        if self._roles.key and not self._roles.declared:  # the schema checks declared ones
            path_text(name, self._roles.key)
        if isinstance(name, str) and name.strip():
            return self._file.key_of(name)
        return self._table.row(line)

    def _columns(
        self, batch: Batch
    ) -> tuple[Sequence[str], Sequence[str], Sequence[str | None], Mapping[str, Sequence[Any]]]:
        """Return the keys, the sources, the splits and the features of the records."""
        roles, columns = self._roles, batch.columns
        rows = list(map(self._table.row, batch.lines))
        keys = rows
        if names := columns.get(roles.key):
            keys = list(map(self._key, names, batch.lines))
        features = converted(self._main, batch, self._scratch)
        if roles.boxes.lists:
            features["boxes"] = [
                boxes_from_lists(values, roles, self._kinds) for values in batch.by_row()
            ]
        if self._table.is_typed and not roles.declared and not self._table.has_values:
            if columns.keys() <= self._kinds.keys() | roles.taken:
                check_forms(columns, roles)
            else:  # raises, since a row with another column is unusable
                profiles_of(self._table, batch, roles)
        features |= converted(self._others, batch, self._scratch)
        splits: Sequence[str | None] = [self._file.split] * len(keys)
        if roles.split in columns or roles.split_folders:
            stated = columns.get(roles.split) or [None] * len(keys)
            splits = [
                split_of_row(split, key, self._file, roles)
                for split, key in zip(stated, keys, strict=True)
            ]
        sources = [""] * len(rows) if self._table.sign == "#" else rows
        return keys, sources, splits, features


def _records(
    keys: Sequence[str],
    sources: Sequence[str],
    splits: Sequence[str | None],
    features: Mapping[str, Sequence[Any]],
) -> Iterator[Record]:
    rows = zip(keys, sources, splits, by_row(features, len(keys)), strict=True)
    for key, source, split, values in rows:
        yield Record(key=key, features=values, split=split, source=source)


def _rows_or_records(*columns: Any) -> Iterable[RecordBatch | Record]:
    rows = rows_of(*columns) if columns[-1] else None
    return [rows] if rows else _records(*columns)


def split_of_row(stated: Any, key: str, file: TableFile, roles: Roles) -> str | None:
    """Return the split of the row, else of its table, else of its folder; None if there is none."""
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(key) if roles.split_folders else None
    return (split.lower() if split in _ML_USES else split) or file.split or by_folder


def read_rows(
    table: Table | Other, all_rows: Overview, scratch_folder: str = ""
) -> Iterator[Entry | Element | RecordBatch]:
    """Yield a table's rows as entries keyed by main file, or as records if keyed by line."""
    if not isinstance(table, Table):
        yield table
        return
    scratch = Scratch(table.file.path, scratch_folder) if scratch_folder else None
    table = table.with_commas(all_rows.commas)
    maker = RecordMaker(table, all_rows, scratch)
    try:
        if error := all_rows.too_large.get(table.file.path):
            raise error
        for batch in table.batches(scratch):
            batch = with_unlabelled(table, batch, all_rows.roles)
            made = [*(maker.entries if all_rows.roles.key else maker.rows)(batch)]
            if scratch:
                scratch.flush()
            for row in batch.bad:
                yield maker.reject(row.line, RecordError(row.reason, row.detail))
            yield from made
    except RecordError as error:
        yield Rejected.of(table.file.relative, error)


def joined_record(key: str, rows: Sequence[JoinedRow], roles: Roles, kinds: Kinds) -> Record:
    """Make the record of an image from its rows, one per box or caption.

    Raises:
        RecordError: A value is unusable, or the rows contradict each other.
    """
    first, values = rows[0], [row.values for row in rows]
    stated = (row.get(roles.split) for row in values)
    splits = {split_of_row(split, key, first.file, roles) for split in stated}
    if len(splits) > 1:
        raise malformed(f"rows of one image are in the splits {sorted(map(str, splits))}")
    features = _shared_features(first.file, values, roles, kinds)
    names = dict.fromkeys(name for row in values for name in row)
    check_forms({name: [row.get(name) for row in values] for name in names}, roles)
    notes: Mapping[str, int] = {}
    if roles.captions:
        features["captions"] = _captions([row.get(roles.captions) for row in values])
        notes = not_kept(name for name in roles.numbers for _ in rows)
    elif roles.boxes.has_runs:
        path = first.file.path_of(first.values[roles.key])
        features["boxes"] = objects_from_runs(values, roles, kinds, path)
    else:
        features["boxes"] = boxes_from_rows(values, roles, kinds)
    return Record(key=key, features=features, split=splits.pop(), source=first.source, notes=notes)


def _shared_features(
    file: TableFile, rows: Sequence[Mapping[str, Any]], roles: Roles, kinds: Kinds
) -> dict[str, Value]:
    """Make the features of the image itself, in which its rows must agree."""
    alike = {column for _, column in (*roles.declared, *roles.labels)}
    features: dict[str, Value] = {}
    for feature, column, convert, _ in main_columns(file, roles, kinds):
        stated = rows[0].get(column)
        (value,) = convert([stated])
        if value is None:
            continue
        if column in alike and any(row.get(column) != stated for row in rows[1:]):
            raise malformed(f"rows of one image differ in the column {column!r}")
        features[feature] = value
    return features


def _captions(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the captions of an image, skipping rows without one."""
    if len(values) > _MAX_CAPTIONS:
        raise malformed(f"over {_MAX_CAPTIONS:,} rows with texts of one image")
    return tuple(str(value) for value in values if is_stated(value))


def join_rows(
    key: str, rows: Sequence[JoinedRow], all_rows: Overview
) -> Iterator[Record | Rejected]:
    """Yield the record of an image from its rows, or a reject."""
    try:
        yield joined_record(key, rows, all_rows.roles, all_rows.kinds)
    except RecordError as error:
        yield Rejected.of(rows[0].source, error)


def numbered(key: str, elements: Iterable[Record | Rejected]) -> Iterator[Record | Rejected]:
    """Yield the elements of one key, with the keys "path", "path#2", …."""
    for number, element in enumerate(elements, start=1):
        if number > 1 and isinstance(element, Record):
            element = dataclasses.replace(element, key=f"{key}#{number}")
        yield element


@dataclasses.dataclass
class ReadRows(beam.PTransform):
    """Read tables in two passes: survey all rows, then make the records.

    Attributes:
        tables: The tables.
        roles: The role of each column.
        scratch: The folder for long values; "" keeps them in the records.
        others: Rejects, classes that the tables state, and the files that are read.
    """

    tables: Sequence[Table]
    roles: Roles
    scratch: str
    others: Sequence[Other] = ()

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        tables = (
            pipeline | "Tables" >> Share([*self.tables, *self.others])  # Table | Other
        )
        all_rows = (
            tables
            | "SurveyTables" >> beam.FlatMap(survey, self.roles, self.scratch)  # Survey
            | "Overview" >> Merge(functools.partial(overview, roles=self.roles))  # Overview
        )
        arguments = (AsSingleton(all_rows), self.scratch)
        if not self.roles.key:
            read = beam.FlatMap(read_rows, *arguments).with_output_types(Element | RecordBatch)
            return tables | "ReadTables" >> read  # Element | RecordBatch
        sizes = storage.sizes(table.file.path for table in self.tables)
        num_bytes = sum(size or 0 for size in sizes)
        batches = tables | "ReadRows" >> ReadInBatches(num_bytes, read_rows, arguments)
        if self.roles.joins_rows:
            return batches | Gather(
                join_rows, (AsSingleton(all_rows),), max_values=MAX_BOXES + 2
            )  # Record | Other
        return batches | Gather(numbered, hold=iter)  # Record | Other


class Planned(NamedTuple):
    """The plan for readable tables, and rejects for the other files."""

    plan: TablePlan
    rejected: Sequence[Rejected]


@dataclasses.dataclass
class ReadTables(TableOptions, beam.PTransform, abc.ABC):
    """Read the rows of tables, one record per row.

    Yields batches, whose `records()` are many records, if all values are single numbers, texts or
    classes; otherwise `Record`; and `Rejected`.

    Options, names and first rows decide the roles of columns (docs/tables.md); all others are
    features with their own name. A row that lacks a number, a list or its label is rejected. With
    a schema, only its features are read.

    Attributes:
        path: The file, or the folder of the files `names`.
        scratch: A folder that all workers see, for long values and files in tables; "" keeps long
            values in memory.
        ignored: Files to leave out.
        names: The files below the folder `path` to read.
        claimed: The plan of the claim on these files; None plans them.
        suffixes: Suffixes of tables, unless files are named; "metadata." with the first one is
            Hugging Face's.
    """

    suffixes: ClassVar[tuple[str, ...]]

    path: str
    scratch: str = ""
    ignored: Ignored = NOTHING
    names: tuple[str, ...] = ()
    claimed: Planned | None = None

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        return pipeline | self.job()

    @abc.abstractmethod
    def opened(self, file: TableFile) -> Table:
        """Open one file; raise ConfigError or RecordError if it cannot be read."""

    def files(self) -> list[TableFile]:
        """Return the files to read; raise ConfigError if there are none."""
        path = storage.absolute(self.path).rstrip("/") or "/"
        if self.names and storage.is_directory(path):
            return [
                self.table_file(InputFile(path=below(path, name), relative=name, split=split), path)
                for name, split in _splits_of(sorted(self.names)).items()
            ]
        if not storage.exists(path):
            raise ConfigError(
                f"the table {path} does not exist; give a file, or the names of a folder's"
            )
        file = InputFile(path=path, relative=name_of(path), split=None)
        return [self.table_file(file, parent(path))]

    def table_file(self, file: InputFile, root: str) -> TableFile:
        """Make a table file below `root`; its paths are relative to `image_root` or its folder."""
        images = storage.absolute(self.image_root).rstrip("/") if self.image_root else None
        return TableFile(
            path=file.path,
            relative=file.relative,
            split=file.split,
            folder=images or parent(file.path),
            root=images or root,
            allowed=(root, *self.allow_outside),
            near=split_in_name(file.split or stem(uncompressed(file.relative))) or "",
            ignored=self.ignored if not images else NOTHING,
        )

    def plan(self) -> Planned:
        """Plan the readable tables, and reject the other files.

        Raises:
            ConfigError: No table is found that these options can read.
            DataError: No table can be read, and the last one is damaged.
        """
        tables: list[Table] = []
        rejected: list[Rejected] = []
        last = None
        for file in self.files():
            try:
                tables.append(self.opened(file))
            except RecordError as error:
                rejected.append(Rejected.of(file.relative, error))
                last = error
        if last and not tables:
            raise whole_input(last, last.detail)
        return Planned(plan_tables(tables, self), rejected)

    def job(self) -> ReadRows:
        """Make the transform that reads the tables; raises as `plan`."""
        plan, rejected = self.claimed or self.plan()
        if plan.problem:
            raise ProblemError(plan.problem)
        tables, roles = plan.tables, plan.roles
        # The files' folders state the splits if nothing else does.
        is_open = not roles.split and not any(table.file.by_index for table in tables)
        roles = dataclasses.replace(
            roles,
            split_folders=is_open and plan.sample.are_in_split_folders(roles.key),
            doubtful="" if self.label_column or self.classes else roles.label,
        )
        consumed = Consumed(paths=tuple(table.file.path for table in tables))
        return ReadRows(tables, roles, self.scratch, [*rejected, *plan.classes, consumed])


def _splits_of(names: Sequence[str]) -> dict[str, str | None]:
    """Return the splits of tables in one folder, or of same-named tables in folders of splits."""
    if len(names) == 1:
        return {names[0]: None}
    folders = [folder(name) for name in names]
    if len(set(folders)) == len(names) and all(is_split(name_of(each)) for each in folders):
        return {name: name_of(parent) for name, parent in zip(names, folders, strict=True)}
    splits = splits_of_tables([name_of(name) for name in names])
    return {name: splits.get(name_of(name)) for name in names}


@dataclasses.dataclass
class ReadContainers(ReadTables):
    """Read files that contain images, audio and other values; each row is a record `<file>#<row>`.

    Also yields a bad Rejected for a file that cannot be read.

    Attributes:
        path: A file, a folder, or a pattern of files.
    """

    def files(self) -> list[TableFile]:
        files = find_files(self.path, self.is_meant, self.ignored)
        return [
            self.table_file(file, file.path.removesuffix(file.relative).rstrip("/") or "/")
            for file in files
        ]

    def is_meant(self, path: str) -> bool:
        """Return whether a file of this name is read."""
        return suffix(path) in self.suffixes
