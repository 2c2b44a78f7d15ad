"""Files of row groups, of Hugging Face and others: a row a record, a column a feature."""

import dataclasses
import functools
import shlex
from collections.abc import Callable, Sequence
from typing import ClassVar

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Rejected
from beam_pipeline.sources.beside import beside_containers
from beam_pipeline.sources.columnar.arrow_file import opened_arrow
from beam_pipeline.sources.columnar.row_groups import opened_parquet
from beam_pipeline.sources.columnar.sqlite_file import MAGIC, opened_sqlite
from beam_pipeline.sources.columnar.table import look_into
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.layout import Layout, Place, container_places, read_by
from beam_pipeline.sources.manifest.files import Manifest, manifest_of
from beam_pipeline.sources.manifest.read import ReadManifest
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.paths import folder, media_kind, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree, head

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

    def tables(self) -> tuple[list[Table], list[Rejected]]:
        """As `ReadManifest.tables`."""
        files, others = find_files(
            self.path, lambda name: suffix(name) in self.suffixes, self.ignored
        )
        # What a table names is read; none says anything of files that it does not name.
        names_files = {name_of(each.relative) for each in files} == {_USUAL}
        suffixes = " or ".join(f".{each}" for each in self.suffixes)
        rejected = [
            beside_containers(each, self.noun, suffixes)
            for each in others
            if not (names_files and media_kind(each))
        ]
        tables: list[Table] = []
        for file in files:
            try:
                root = file.path.removesuffix(file.relative).rstrip("/") or "/"
                tables.append(self.opened(manifest_of(file, root, self)))
            except RecordError as error:
                rejected.append(Rejected.of(file.relative, error))
        if not tables:
            raise ConfigError(f"{rejected[-1].detail}")
        return tables, rejected


@dataclasses.dataclass
class ReadParquet(ReadColumnar):
    """The rows of Parquet files."""

    suffixes = ("parquet",)
    noun = "a Parquet file"

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        return look_into(manifest, opened_parquet, self.ignore_columns)


@dataclasses.dataclass
class ReadArrow(ReadColumnar):
    """The rows of Arrow files: Hugging Face's `save_to_disk`, Feather, IPC."""

    suffixes = ("arrow", "feather")
    noun = "an Arrow file"

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        return look_into(manifest, opened_arrow, self.ignore_columns)


@dataclasses.dataclass
class ReadSqlite(ReadColumnar):
    """The rows of a table of SQLite databases.

    Attributes:
        table: The table; "" is the only one.
    """

    suffixes = ("db", "sqlite", "sqlite3")
    noun = "an SQLite database"

    table: str = ""

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        open_file = functools.partial(opened_sqlite, table=self.table)
        return look_into(manifest, open_file, self.ignore_columns)


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
