"""Read tables of any format: a pass over all rows surveys them, another makes their records."""

import abc
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.batch import RecordBatch
from beam_pipeline.errors import ConfigError, RecordError, whole_input
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_BOXES
from beam_pipeline.problems import ProblemError
from beam_pipeline.records import Consumed, Element, Rejected
from beam_pipeline.running.gathering import Divide, Merge, Share
from beam_pipeline.sources.gather import Gather, ReadInBatches
from beam_pipeline.sources.paths import below, folder, name_of, parent, stem, suffix, uncompressed
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tables.convert import join_rows, numbered, read_rows
from beam_pipeline.sources.tables.overview import overview
from beam_pipeline.sources.tables.parts import is_divisible
from beam_pipeline.sources.tables.plan import TablePlan, plan_tables
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.survey import Other, survey
from beam_pipeline.sources.tables.table import Table, TableFile
from beam_pipeline.sources.tables.usual_columns import TableOptions
from beam_pipeline.sources.tree import NOTHING, Ignored, InputFile, find_files
from tfrecord_dataset.format.split_names import is_split, split_in_name


def parts_of(table: Table | Other) -> Iterator[Table | Other]:
    """Yield the parts of a table."""
    yield from table.parts() if isinstance(table, Table) else [table]


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
        sizes = [size or 0 for size in storage.sizes(table.file.path for table in self.tables)]
        tables = (
            pipeline | "Tables" >> Share([*self.tables, *self.others])  # Table | Other
        )
        if any(map(is_divisible, sizes)):
            tables = tables | "Parts" >> Divide(parts_of)  # Table | Other
        all_rows = (
            tables
            | "SurveyTables" >> beam.FlatMap(survey, self.roles, self.scratch)  # Survey
            | "Overview" >> Merge(functools.partial(overview, roles=self.roles))  # Overview
        )
        arguments = (AsSingleton(all_rows), self.scratch)
        if not self.roles.key:
            read = beam.FlatMap(read_rows, *arguments).with_output_types(Element | RecordBatch)
            return tables | "ReadTables" >> read  # Element | RecordBatch
        batches = tables | "ReadRows" >> ReadInBatches(sum(sizes), read_rows, arguments)
        if self.roles.joins_rows:
            return batches | Gather(
                join_rows, (AsSingleton(all_rows),), max_values=MAX_BOXES + 2
            )  # Record | Other
        return batches | Gather(numbered, hold=iter)  # Record | Other


@dataclasses.dataclass
class ReadTables(TableOptions, beam.PTransform, abc.ABC):
    """Read the rows of tables, one record per row.

    Yields batches, whose `records()` are many records, if all values are single numbers, texts or
    classes; otherwise `Record`; and `Rejected`.

    Options, names and first rows decide the roles of columns (docs/from/tables.md); all others are
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
    claimed: TablePlan | None = None

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

    def plan(self) -> TablePlan:
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
        return dataclasses.replace(plan_tables(tables, self), rejected=rejected)

    def job(self) -> ReadRows:
        """Make the transform that reads the tables; raises as `plan`."""
        plan = self.claimed or self.plan()
        if plan.problem:
            raise ProblemError(plan.problem)
        consumed = Consumed(paths=tuple(table.file.path for table in plan.tables))
        others = [*plan.rejected, *plan.classes, consumed]
        return ReadRows(plan.tables, plan.roles, self.scratch, others)


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
