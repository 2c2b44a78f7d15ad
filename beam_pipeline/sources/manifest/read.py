"""Manifests: one row a record, a column a feature, in CSV, TSV and JSON Lines."""

import abc
import copy
import dataclasses
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar

import apache_beam as beam

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.sources.columns.choice import check_ignored, pick_columns
from beam_pipeline.sources.columns.column import LABELS, Columns, TableOptions
from beam_pipeline.sources.columns.declared import declare_columns
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.manifest.advice import check_no_shapes, check_no_volumes, places_told
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells, cells
from beam_pipeline.sources.manifest.choices import Choice, choose, completed
from beam_pipeline.sources.manifest.class_names import classes_told, named_beside
from beam_pipeline.sources.manifest.csv_dialect import columns_of_list, dialect_of
from beam_pipeline.sources.manifest.csv_header import check_headers
from beam_pipeline.sources.manifest.csv_table import CsvTable
from beam_pipeline.sources.manifest.elsewhere import found_here
from beam_pipeline.sources.manifest.files import Manifest, find_manifests, folders_left_out
from beam_pipeline.sources.manifest.first_rows import (
    Seen,
    are_in_split_folders,
    check_files,
    unlabelled,
)
from beam_pipeline.sources.manifest.joining import Folder, check_beside, with_images
from beam_pipeline.sources.manifest.kinds import check_first_rows, ignorable, objects_of, with_lists
from beam_pipeline.sources.manifest.map_columns import with_maps
from beam_pipeline.sources.manifest.records import ReadTables
from beam_pipeline.sources.manifest.survey import Questions
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.manifest.whereabouts import find_files, placed
from beam_pipeline.sources.tree import Tree
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
        names: The files below the folder `path` that are read; empty finds them.
        also_read: Files besides, absolute, that say more of the rows; known once there is a job.
        tree: The input's, if it was listed already.
        quiet: Whether nothing is told of what is chosen, as where readings are compared.
        suffixes: Of such files; "metadata." and the first is Hugging Face's.
    """

    suffixes: ClassVar[tuple[str, ...]]

    path: str
    divided: bool = False
    scratch: str = ""
    ignored: Ignored = NOTHING
    names: tuple[str, ...] = ()
    quiet: bool = False
    also_read: Collection[str] = dataclasses.field(default=(), init=False)
    tree: Tree | None = None

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        return pipeline | self.job()

    @abc.abstractmethod
    def opened(self, manifest: Manifest) -> Table:
        """One file as a table; raises ConfigError where it cannot be read."""

    def tables(self) -> tuple[list[Table], list[Rejected]]:
        """The files to read, and those that cannot be; raises ConfigError where none can."""
        found = find_manifests(self.path, self.suffixes, self, self.ignored, self.names)
        self._warn(
            f"left out, since they hold no metadata.{self.suffixes[0]}",
            folders_left_out(self.path, found, self.ignored),
        )
        return list(map(self.opened, found)), []

    def job(self) -> "ReadTables":
        """What is to be read, and as what, once the first rows were looked at.

        Raises:
            ConfigError: There is no manifest, or none that can be used as asked.
        """
        opened, rejected = self.tables()
        if not getattr(self, "column_names", ()):  # else a user leaves them out
            nameless = [
                f"column {number}"
                for table in opened
                for number, name in enumerate(table.header, start=1)
                if not name
            ]
            self._warn("left out, since they have no name", {*nameless})
        seen = Seen.of(opened)
        if not seen.rows and not opened[0].header:
            raise ConfigError(
                f"{self.path} has no line with a JSON object; write one object per line"
            )
        check_no_shapes(opened[0].manifest.path, seen.names)
        if not self.schema:
            texts = seen.texts.items()
            used = {name: values for name, values in texts if name not in self.ignore_columns}
            check_no_volumes(opened[0].manifest.path, used)
        objects = objects_of(seen.rows, self).difference(self.ignore_columns)
        nested = {name for name, form in seen.forms.items() if form.is_nested}
        self._warn("texts in JSON, since they hold objects", objects | nested)
        prepared = dataclasses.replace(self.cells(seen.names), as_json=objects)
        if prepared != AS_THEY_ARE:
            seen = Seen.of([dataclasses.replace(each, cells=prepared) for each in opened])
        ignorables = {**seen.names} | dict.fromkeys(
            name for row in seen.rows for name in ignorable(row.values)
        )
        elsewhere = frozenset(self.ignore_columns).difference(ignorables)
        if opened[0].header:
            check_ignored(elsewhere, [*ignorables])
        seen, folders = self._with_files(seen)
        seen, choice = self._with_classes(seen, bool(folders))
        reader = copy.copy(self)
        reader.label_column = choice.label or self.label_column
        columns = reader.columns(seen)
        columns, told = completed(columns, choice, seen, self, bool(folders))
        columns, of_maps, declared = with_maps(columns, seen.rows)
        tables, rows = seen.tables, seen.rows
        classes = None if self.classes or self.schema else named_beside(seen, columns, self.ignored)
        if classes:
            columns = dataclasses.replace(columns, class_names=classes.names)
            self.also_read = (classes.path,)
            told.append(classes_told(classes))
            feature = "boxes" if columns.corners or columns.boxes else "label"
            names = dict(enumerate(classes.names.values()))
            declared.append(DeclaredClasses(feature=feature, names=names))
        for each in filter(None, (choice.told, *told, *of_maps)):
            self._tell(each)
        headers = {table.manifest.relative: table.header for table in tables}
        may_lack = {*self.ignore_columns, *reader.labels, *LABELS.of_tables, *choice.classes}
        check_headers(headers, {*may_lack, columns.optional, columns.split}, columns.label)
        if not columns.media and not self.schema and storage.is_directory(self.path):
            check_beside(tables[0].manifest, self.tree or Tree(self.path, self.ignored))
        columns = with_lists(columns, seen.facts, rows)
        check_first_rows(tables[0], rows, columns)
        # The files' folders state the splits, where nothing else does and the tables name folders.
        # But a folder `train` alone states nothing that `--split` could not divide.
        states = not folders and not columns.split and are_in_split_folders(rows, columns.key)
        questions = Questions(
            columns=dataclasses.replace(columns, split_folders=states),
            kinds=not columns.declared or bool(columns.boxes or columns.joins_rows),
            one_folder=states and self.divided,
            ignored=elsewhere,
            names=tuple(ignorables),
        ).about_label("" if self.label_column or self.classes else columns.label)
        others = [*rejected, *_classes_of_forms(seen, columns), *declared]
        folders = [with_images(each, seen, columns) for each in folders]
        return ReadTables(tables, questions, self.scratch, others, folders)

    def _with_files(self, seen: Seen) -> tuple[Seen, Sequence[Folder]]:
        """The tables with the paths of their files, if these lie elsewhere in the input.

        Returns:
            The tables; and the folders whose files are held against the rows, none if the tables
            themselves state paths.
        """
        is_told = self.schema or self.image_root or self.image_template
        is_tree = storage.is_directory(self.path)
        if seen.facts.files or is_told or (storage.is_remote(self.path) and not is_tree):
            return seen, ()
        root = seen.tables[0].manifest.root
        tree = self.tree or Tree(root, self.ignored)
        if not (places := find_files(seen, tree, self)):
            tables = found_here(seen, tree, self._tell)
            return (Seen.of(tables) if tables else seen), ()
        tables = []
        for table, place in zip(seen.tables, places, strict=True):
            self._tell(places_told(table.manifest, place))
            tables.append(placed(table, place, seen.names))
        listed = {root} if is_tree else {folder for place in places for folder in place.folders}
        folders = [Folder(root=root, path=path, ignored=self.ignored) for path in sorted(listed)]
        return Seen.of(tables), folders

    def _with_classes(self, seen: Seen, with_found_files: bool) -> tuple[Seen, Choice]:
        """The tables with a column of classes, if each class has a column of its own."""
        if self.schema or not seen.tables[0].header:
            return seen, Choice()
        columns = pick_columns(seen.names, self, seen.facts)
        choice = choose(seen, self, columns, with_found_files)
        if not choice.classes:
            return seen, choice
        tables = []
        for table in seen.tables:
            cells = dataclasses.replace(table.cells, classes=choice.classes)
            tables.append(dataclasses.replace(table, cells=cells))
        return Seen.of(tables), choice

    def _warn(self, what: str, names: Collection[str]) -> None:
        if names:
            self._tell(f"{what}: {', '.join(sorted(names))}")

    def _tell(self, what: str) -> None:
        if not self.quiet:
            _LOG.warning("%s", one_line(what))

    def cells(self, names: Mapping[str, None]) -> Cells:
        """What becomes of values before anything else is made of them; raises ConfigError."""
        return cells(self, names)

    def columns(self, seen: Seen) -> Columns:
        """Which column is which, by their names and the first rows.

        Raises:
            ConfigError: An option or the schema does not fit the columns, or all files of one lie
                outside the input; or rows are boxes of images that lie in the table.
        """
        if self.schema:
            columns = declare_columns(seen.names, self, seen.facts)
            left_out = columns.ignored.difference(self.ignore_columns)
            self._warn("left out, since --schema does not declare them", left_out)
        else:
            columns = pick_columns(seen.names, self, seen.facts)
            self._warn(
                "read as text, since no such files exist in the input (see --image-root and "
                "--allow-outside)",
                {*seen.facts.media, *seen.facts.absent}.difference(columns.taken, seen.facts.files),
            )
            check_files(seen.rows, [each.column for each in columns.media])
        without = unlabelled(seen.rows, columns.label_columns)
        self._warn("without any label in the first rows, so records may lack labels", without)
        is_held = columns.key in seen.forms and seen.forms[columns.key].media
        if is_held and columns.corners:
            raise ConfigError(
                f"rows have a box each ({', '.join(columns.corners)}) and an image each in "
                f"{columns.key!r}: which rows are one image, nothing tells; put its boxes into one "
                f"row, or leave the boxes out with --ignore-columns {','.join(columns.corners)}"
            )
        return dataclasses.replace(
            columns,
            key="" if is_held else columns.key,
            classes=tuple(self.classes),
            unlabelled=without,
            missing_number=self.missing_number,
        )


@dataclasses.dataclass
class ReadCsv(ReadManifest):
    """The rows of CSV or TSV files, a record each.

    Columns are found by their names and by what the first rows hold (docs/manifests.md); all others
    are features under their own name. A row that misses a number, a list or its label, or has too
    few or too many fields, is rejected. With a schema its features alone are read.

    Attributes:
        column_names: The header of files that have none; "" leaves a column out.
        no_header: Whether files have none, and columns are called "column_1", ….
    """

    suffixes = ("csv", "tsv", "txt")

    column_names: Sequence[str] = ()
    no_header: bool = False

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        names = self.column_names or ([] if self.no_header else columns_of_list(manifest.path))
        header, dialect = dialect_of(manifest.path, names, no_header=self.no_header)
        return CsvTable(
            manifest=manifest,
            header=tuple(header),
            dialect=dialect,
            has_header=not (names or self.no_header),
        )


def _classes_of_forms(seen: Seen, columns: Columns) -> Iterator[DeclaredClasses]:
    """The classes of labels and boxes that the tables themselves state."""
    boxes = [("boxes", columns.boxes)] if columns.boxes else []
    for feature, column in (*columns.labels, *boxes):
        if column in seen.forms and (classes := seen.forms[column].classes):
            yield DeclaredClasses(feature=feature, names=dict(enumerate(classes)))
