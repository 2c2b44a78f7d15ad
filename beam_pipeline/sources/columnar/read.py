"""Files of row groups, of Hugging Face and others: a row a record, a column a feature."""

import abc
import dataclasses
import functools
import logging
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.sources.beside import beside_containers
from beam_pipeline.sources.columnar.arrow_file import opened_arrow
from beam_pipeline.sources.columnar.forms import Form
from beam_pipeline.sources.columnar.row_groups import Open, opened_parquet
from beam_pipeline.sources.columnar.sqlite_file import MAGIC, opened_sqlite
from beam_pipeline.sources.columnar.table import ColumnarTable, look_into
from beam_pipeline.sources.columns.column import ColumnFacts, Columns
from beam_pipeline.sources.input_files import InputFile, find_files
from beam_pipeline.sources.layout import (
    Layout,
    Place,
    container_places,
    read_by,
)
from beam_pipeline.sources.manifest.files import Manifest, manifest_of
from beam_pipeline.sources.manifest.first_rows import FirstRows
from beam_pipeline.sources.manifest.read import ReadManifest
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.paths import folder, media_kind, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree, head
from tfrecord_dataset.shown_text import one_line

_LOG = logging.getLogger(__name__)
_USUAL = "metadata.parquet"  # of Hugging Face, beside images


@dataclasses.dataclass
class ReadColumnar(ReadManifest):
    """The rows of files of row groups: `<file>#<row>`, a record each.

    As `ReadJsonl`. Images and audio lie in the file, as bytes or as Hugging Face's structs of bytes
    and path, or are named by their paths. Class labels whose names the schema's metadata states
    are classes of these names. Other structs are texts in JSON.

    Yields besides a bad Rejected for a file that cannot be read; Rejected, not bad, for other
    files.

    Attributes:
        path: The file; a folder; or a pattern of files.
        noun: What such a file is called.
    """

    noun: ClassVar[str]

    @abc.abstractmethod
    def open_file(self) -> Open:
        """What opens a file."""

    def tables(self) -> tuple[list[Table], list[Rejected]]:
        """As `ReadManifest.tables`."""
        files, others = find_files(self.path, self.is_meant, self.ignored)
        # What a table names is read; none says anything of files that it does not name.
        names_files = {name_of(each.relative) for each in files} == {_USUAL}
        rejected = [
            beside_containers(each, self.noun, _shown(self.suffixes))
            for each in others
            if not (names_files and media_kind(each))
        ]
        tables: list[Table] = []
        for file in files:
            try:
                tables.append(self.opened(self._manifest(file)))
            except RecordError as error:
                rejected.append(Rejected.of(file.relative, error))
        if not tables:
            raise ConfigError(f"{rejected[-1].detail}")
        return tables, rejected

    @classmethod
    def is_meant(cls, path: str) -> bool:
        """Whether the file's name is one of this kind."""
        return suffix(path) in cls.suffixes

    def _manifest(self, file: InputFile) -> Manifest:
        root = file.path.removesuffix(file.relative).rstrip("/") or "/"
        media_root = storage.absolute(self.image_root).rstrip("/") if self.image_root else None
        manifest = manifest_of(root, file.relative, file.split, media_root)
        return dataclasses.replace(
            manifest, path=file.path, allowed=(*manifest.allowed, *self.allow_outside)
        )

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        open_file = self.open_file()
        found = look_into(manifest.path, open_file, self.ignore_columns)
        return ColumnarTable(
            manifest=manifest, header=found.names, forms=found.forms, open_file=open_file
        )

    def facts(self, tables: Sequence[Table], facts: ColumnFacts) -> ColumnFacts:
        """As `ReadManifest.facts`: files that lie in a table are there."""
        forms = _forms(tables)
        nested = sorted(name for name, form in forms.items() if form.is_nested)
        if nested:
            _LOG.warning("texts in JSON, since they hold objects: %s", one_line(", ".join(nested)))
        self._held = {name: form.media for name, form in forms.items() if form.media}
        return dataclasses.replace(
            facts, media={**facts.media, **self._held}, files={*facts.files, *self._held}
        )

    def columns(self, names: Iterable[str], rows: FirstRows, facts: ColumnFacts) -> Columns:
        """As `ReadManifest.columns`; files that lie in a table name no record.

        Raises:
            ConfigError: Besides, rows are boxes of an image that no name tells.
        """
        columns = super().columns(names, rows, facts)
        if columns.key not in self._held:
            return columns
        if columns.corners:
            raise ConfigError(
                f"rows have a box each ({', '.join(columns.corners)}) and an image each in "
                f"{columns.key!r}: which rows are one image, nothing tells; put its boxes into one "
                f"row, or leave the boxes out with --ignore-columns {','.join(columns.corners)}"
            )
        return dataclasses.replace(columns, key="")

    def declared(self, tables: Sequence[Table], columns: Columns) -> Iterator[DeclaredClasses]:
        """As `ReadManifest.declared`: of labels and boxes."""
        forms = _forms(tables)
        boxes = [("boxes", columns.boxes)] if columns.boxes else []
        for feature, column in (*columns.labels, *boxes):
            if column in forms and forms[column].classes:
                names = dict(enumerate(forms[column].classes))
                yield DeclaredClasses(feature=feature, names=names)


@dataclasses.dataclass
class ReadParquet(ReadColumnar):
    """The rows of Parquet files."""

    suffixes = ("parquet",)
    noun = "a Parquet file"

    def open_file(self) -> Open:
        """As `ReadColumnar.open_file`."""
        return opened_parquet


@dataclasses.dataclass
class ReadArrow(ReadColumnar):
    """The rows of Arrow files: Hugging Face's `save_to_disk`, Feather, IPC."""

    suffixes = ("arrow", "feather")
    noun = "an Arrow file"

    def open_file(self) -> Open:
        """As `ReadColumnar.open_file`."""
        return opened_arrow


@dataclasses.dataclass
class ReadSqlite(ReadColumnar):
    """The rows of a table of SQLite databases.

    Attributes:
        table: The table; "" is the only one.
    """

    suffixes = ("db", "sqlite", "sqlite3")
    noun = "an SQLite database"

    table: str = ""

    def open_file(self) -> Open:
        """As `ReadColumnar.open_file`."""
        return functools.partial(opened_sqlite, table=self.table)


def _shown(suffixes: Sequence[str]) -> str:
    return " or ".join(f".{each}" for each in suffixes)


def _forms(tables: Sequence[Table]) -> dict[str, Form]:
    """How the columns are read, by name; the first table that has one says it."""
    return {
        name: form
        for table in reversed(tables)
        if isinstance(table, ColumnarTable)
        for name, form in table.forms.items()
    }


def _doubt(tree: Tree, files: Sequence[str]) -> str:
    """That folders state the values of a column, as Spark and Ray write them; "" of others."""
    stated = next((name for name in files if "=" in folder(name) and name.endswith(".parquet")), "")
    if not stated:
        return ""
    program = (
        'import sys, pyarrow.dataset as d; d.write_dataset(d.dataset(sys.argv[1], format="parquet",'
        ' partitioning="hive"), sys.argv[2], format="parquet")'
    )
    table = f"{tree.root}-as-columns"
    words = " ".join(map(shlex.quote, ["python", "-c", program, tree.root, table]))
    return (
        f"the folders of {stated} state values of columns, which would be lost: write them as "
        f"columns by {words}, and give {shlex.quote(table)}"
    )


def _layout(
    name: str,
    sign: str,
    source: type[ReadColumnar],
    begins: Callable[[str], bool] | None = None,
) -> Layout:
    def find(tree: Tree) -> Sequence[Place]:
        """Files of its suffixes, but for the indexes of TFRecord files (docs/format.md)."""
        files = [name for suffix in source.suffixes for name in tree.files_with(suffix)]
        files = [name for name in files if begins is None or begins(tree.path(name))]
        found = container_places([name for name in files if ".tfrecord" not in name])
        is_usual = {*map(name_of, files)} == {_USUAL}
        doubt = _doubt(tree, files)
        return [each._replace(has_usual_name=is_usual, doubt=doubt) for each in found]

    return Layout(
        name=name,
        sign=sign,
        kind="container",
        **read_by(source),
        suffixes=source.suffixes,
        find=find,
        begins=begins,
    )


PARQUET = _layout("parquet", ".parquet files", ReadParquet)
ARROW = _layout("arrow", ".arrow or .feather files", ReadArrow)
SQLITE = _layout(
    "sqlite",
    ".db or .sqlite files that begin like SQLite databases",
    ReadSqlite,
    begins=lambda path: head(path).startswith(MAGIC),
)
