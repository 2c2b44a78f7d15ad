"""Manifests: one row a record, a column a feature, in CSV, TSV and JSON Lines."""

import abc
import dataclasses
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar

import apache_beam as beam

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.sources.columns.choice import check_ignored, pick_columns
from beam_pipeline.sources.columns.column import LABELS, ColumnFacts, Columns
from beam_pipeline.sources.columns.declared import declare_columns
from beam_pipeline.sources.columns.kinds import kind_of_json, kind_of_text
from beam_pipeline.sources.columns.options import TableOptions
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.manifest.advice import advice, check_not_via
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells, cells
from beam_pipeline.sources.manifest.csv_dialect import dialect_of
from beam_pipeline.sources.manifest.csv_header import check_headers
from beam_pipeline.sources.manifest.csv_table import CsvTable
from beam_pipeline.sources.manifest.files import Manifest, find_manifests, folders_left_out
from beam_pipeline.sources.manifest.first_rows import (
    FirstRows,
    are_in_split_folders,
    check_files,
    first_rows,
    look,
    unlabelled,
)
from beam_pipeline.sources.manifest.json_columns import check_first_rows, ignorable, with_lists
from beam_pipeline.sources.manifest.json_table import JsonTable
from beam_pipeline.sources.manifest.survey import Questions
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.manifest.tables import ReadTables
from beam_pipeline.sources.manifest.whereabouts import check_whereabouts, texts_of
from tfrecord_dataset.shown_text import one_line

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class ReadManifest(TableOptions, beam.PTransform, abc.ABC):
    """What CSV and JSON Lines have in common.

    Attributes:
        path: The file; or a folder with metadata.csv (.jsonl), or one in the folder of each
            split (Hugging Face), or with one such file, or train.csv, test.csv, ….
        divided: Whether the build divides what states no split into several.
        scratch: A folder that all workers see, into which compressed manifests are unpacked to be
            read in ranges; "" reads each whole, with its long values in memory.
        ignored: Files that are left out.
        suffixes: Of such files; "metadata." and the first is Hugging Face's.
    """

    suffixes: ClassVar[tuple[str, ...]]

    path: str
    divided: bool = False
    scratch: str = ""
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        return pipeline | self.job()

    @abc.abstractmethod
    def opened(self, manifest: Manifest) -> Table:
        """One file as a table; raises ConfigError where it cannot be read."""

    def tables(self) -> tuple[list[Table], list[Rejected]]:
        """The files to read, and those that cannot be; raises ConfigError where none can."""
        metadata = f"metadata.{self.suffixes[0]}"
        found = find_manifests(self.path, self.image_root, metadata, self.suffixes, self.ignored)
        _warn(
            f"left out, since they hold no {metadata}",
            folders_left_out(self.path, found, self.ignored),
        )
        tables = [
            self.opened(dataclasses.replace(each, allowed=(*each.allowed, *self.allow_outside)))
            for each in found
        ]
        return tables, []

    def job(self) -> "ReadTables":
        """What is to be read, and as what, once the first rows were looked at.

        Raises:
            ConfigError: There is no manifest, or none that can be used as asked.
        """
        tables, rejected = self.tables()
        rows = first_rows(tables)
        if not rows and not tables[0].header:
            raise ConfigError(
                f"{self.path} has no line with a JSON object; write one object per line"
            )
        prepared = self.cells(_names(tables, rows))
        if prepared != AS_THEY_ARE:
            tables = [dataclasses.replace(table, cells=prepared) for table in tables]
            rows = first_rows(tables)
        names = _names(tables, rows)
        if prepared.column:
            names[prepared.column] = None
        check_not_via(tables[0].manifest.path, names)
        ignorables = names | dict.fromkeys(name for row in rows for name in ignorable(row.values))
        elsewhere = frozenset(self.ignore_columns).difference(ignorables)
        if tables[0].header:
            check_ignored(elsewhere, [*ignorables])
        facts = look(rows, kind_of_json if tables[0].is_typed else kind_of_text)
        facts = self.facts(tables, facts)
        if not facts.files:
            check_whereabouts(tables[0].manifest, texts_of(rows), self)
        headers = {table.manifest.relative: table.header for table in tables}
        check_headers(headers, {*self.ignore_columns, *self.labels, *LABELS.of_record})
        columns = with_lists(self.columns(names, rows, facts), facts, rows)
        check_first_rows(tables[0], rows, columns)
        if tables[0].header and not self.schema:
            for told in advice(texts_of(rows), [name for _, name in columns.labels]):
                _LOG.warning("%s", one_line(told))
        questions = self.questions(columns, rows)
        questions = dataclasses.replace(questions, ignored=elsewhere, names=tuple(ignorables))
        others = [*rejected, *self.declared(tables, columns)]
        return ReadTables(tables, questions, self.scratch, others)

    def cells(self, names: Mapping[str, None]) -> Cells:
        """What becomes of values before anything else is made of them; raises ConfigError."""
        return cells(self, names)

    def facts(self, tables: Sequence[Table], facts: ColumnFacts) -> ColumnFacts:
        """What the columns hold by their first rows, and by what the tables say of themselves."""
        return facts

    def declared(self, tables: Sequence[Table], columns: Columns) -> Iterable[DeclaredClasses]:
        """The classes that the tables state."""
        return ()

    def columns(self, names: Iterable[str], rows: FirstRows, facts: ColumnFacts) -> Columns:
        """Which column is which, by their names and the first rows.

        Raises:
            ConfigError: An option or the schema does not fit the columns, or all files of one lie
                outside the input.
        """
        if self.schema:
            columns = declare_columns(names, self, facts)
            left_out = columns.ignored.difference(self.ignore_columns)
            _warn("left out, since --schema does not declare them", left_out)
        else:
            columns = pick_columns(names, self, facts)
            lost = facts.media.keys() - columns.taken - set(facts.files)
            _warn(
                "read as text, since no such files exist in the input (see --image-root and "
                "--allow-outside)",
                lost,
            )
            check_files(rows, [each.column for each in columns.media])
        without = unlabelled(rows, columns.label_columns)
        _warn("without any label in the first rows, so records may lack labels", without)
        return dataclasses.replace(
            columns,
            classes=tuple(self.classes),
            unlabelled=without,
            missing_number=self.missing_number,
        )

    def questions(self, columns: Columns, rows: FirstRows) -> Questions:
        """What all rows are asked for.

        The files' folders state the splits, where nothing else does. But a folder `train` alone
        states nothing that `--split` could not divide.
        """
        states = not columns.split and are_in_split_folders(rows, columns.key)
        return Questions(
            columns=dataclasses.replace(columns, split_folders=states),
            kinds=not columns.declared or bool(columns.boxes or columns.joins_rows),
            one_folder=states and self.divided,
            label="" if self.label_column or self.classes else columns.label,
        )


def _warn(what: str, names: Collection[str]) -> None:
    if names:
        _LOG.warning("%s: %s", what, one_line(", ".join(sorted(names))))


def _names(tables: Iterable[Table], rows: FirstRows) -> dict[str, None]:
    """The columns that the tables state, or else that the first rows have."""
    stated = [name for table in tables for name in table.header]
    return dict.fromkeys(filter(None, stated or [name for row in rows for name in row.values]))


@dataclasses.dataclass
class ReadCsv(ReadManifest):
    """The rows of CSV or TSV files, a record each.

    Columns are found by their names and by what the first rows hold: the image, the audio,
    labels, the split, four numbers of a box, paths of further files (docs/manifests.md). All
    others are features under their own name: int, else float, else str, whatever holds every
    value of the column, or arrays where every field is a list in JSON. A missing text is "";
    a row that misses a number, a list or its label is rejected. So are rows with too few or too
    many fields.

    Where four columns hold a box (see `column.CORNERS`) the rows of an image make one
    Record, with their boxes in their order; a row with empty coordinates is an image without
    boxes. Other columns are attributes of the boxes.

    With a schema its features alone are read, each converted to what is declared; a row that
    does not fit is rejected.

    Attributes:
        column_names: The header of files that have none; "" leaves a column out.
        no_header: Whether files have none, and columns are called "column_1", ….
    """

    suffixes = ("csv", "tsv", "txt")

    column_names: Sequence[str] = ()
    no_header: bool = False

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        header, dialect = dialect_of(manifest.path, self.column_names, no_header=self.no_header)
        return CsvTable(
            manifest=manifest,
            header=tuple(header),
            dialect=dialect,
            has_header=not (self.column_names or self.no_header),
        )

    def tables(self) -> tuple[list[Table], list[Rejected]]:
        """As `ReadManifest.tables`."""
        tables, rejected = super().tables()
        if not self.column_names:
            nameless = {
                f"column {number}"
                for table in tables
                for number, name in enumerate(table.header, start=1)
                if not name
            }
            _warn("left out, since they have no name", nameless)
        return tables, rejected


@dataclasses.dataclass
class ReadJsonl(ReadManifest):
    """The lines of JSON Lines files, an object and a record each.

    As `ReadCsv`, and besides: lists of numbers are arrays and may be nested, lists of strings
    tuples. A column `boxes`, `bboxes` or `bbox` may hold all boxes of the image, four numbers
    each in format "xyxy", with their classes and other values in lists beside; or `objects` as
    Hugging Face has it, with `bbox` in format "xywh". Columns are found in the first rows; an
    object that is none of these is an error.
    """

    suffixes = ("jsonl", "ndjson", "json")

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        return JsonTable(manifest=manifest)
