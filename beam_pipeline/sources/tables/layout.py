"""The layouts of tables: `csv`, `jsonl`, `xlsx`, `parquet`, `arrow` and `sqlite`."""

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.layout_names import AUTO
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.sources.layout import Claim, Layout, Rank, reading, source_layout, splits_shown
from beam_pipeline.sources.paths import (
    ARRAY_SUFFIXES,
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    folder,
    is_submission,
    joined,
    media_kind,
    suffix,
    uncompressed,
)
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tables.columnar import ReadArrow, ReadParquet
from beam_pipeline.sources.tables.csv import ReadCsv, is_list
from beam_pipeline.sources.tables.database import MAGIC, ReadSqlite
from beam_pipeline.sources.tables.json import ReadJsonl, place_of_rows
from beam_pipeline.sources.tables.planning import TablePlan
from beam_pipeline.sources.tables.read_tables import ReadContainers, ReadTables
from beam_pipeline.sources.tables.workbook import ReadXlsx
from beam_pipeline.sources.tree import Tree, head, shown
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.format.split_names import is_split
from tfrecord_dataset.store.urls import unsigned

_MEDIA_NAME = re.compile(
    rf"\.({'|'.join(sorted(IMAGE_SUFFIXES | AUDIO_SUFFIXES | ARRAY_SUFFIXES))})\b".encode(),
    re.IGNORECASE,
)
_NUMBER = re.compile("[0-9]+")
# How many tables of a tree are looked into.
_TABLES = 20
# Suffixes of tables with a row per line.
_OF_LINES = frozenset({"csv", "tsv", "jsonl", "ndjson"})
# Suffixes of files next to tables that hold all data themselves.
_BESIDE_TABLES = frozenset({
    "", "csv", "tsv", "jsonl", "ndjson", "json", "yaml", "yml", "txt", "md", "rst", "xlsx", "html",
    "pdf", "names",
})  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class _Tables:
    """Claims of tables of one format.

    Attributes:
        name: The layout's.
        source: Reads them.
    """

    name: str
    source: type[ReadTables]

    def claim(self, tree: Tree, config: BuildConfig) -> Claim | None:
        """Return what would be read of a tree: tables that name its files, or are all its data."""
        if not tree.is_folder:
            is_meant = config.layout == self.name or self._fits(tree.input)
            names: Sequence[str] = [name_of(tree.input)] if tree.is_file and is_meant else ()
            return self._claim(tree, names, Rank.TABLE, config)
        if metadata := self._metadata(tree):
            return self._claim(tree, metadata, Rank.NAMED_TABLE, config)
        names = tree.files()
        tables = [name for name in tree.files_of("") if self._fits(tree.path(name))]
        if tables and not tree.has_all_folders and all("/" in name for name in tables):
            every = (file.relative for file in storage.list_files(tree.root))
            tables = [name for name in every if not tree.ignored(name)]
            tables = [name for name in tables if self._fits(tree.path(name))]
        others = [name for name in tables if not is_submission(name)]
        if len(others) < len(tables):  # a submission is read if there is nothing else
            data = [name for name in names if may_hold_data(name) or media_kind(name)]
            tables = tables if all(map(is_submission, data)) else others
        at_top = [name for name in tables if "/" not in name]
        if tree.only_folder and not at_top:
            return None  # what is in that folder is claimed
        if all(suffix(uncompressed(name)) in _BESIDE_TABLES for name in names):
            return self._claim(tree, at_top or tables, Rank.TABLE, config)
        naming: list[str] = []
        if any(map(media_kind, names)):
            # A schema without the column of the files leaves the table the one that names them.
            configs = [config, dataclasses.replace(config, schema=())][: 2 if config.schema else 1]
            tries = itertools.product(configs, (at_top, tables))
            named = (self._naming(tree, among, each) for each, among in tries)
            naming = next(filter(None, named), [])
        if not naming and config.layout == self.name:
            naming = at_top or tables
        if not naming and config.layout == AUTO:
            return self._claim(tree, self._larger(tree, at_top, config), Rank.FOLDERS, config)
        return self._claim(tree, naming, Rank.TABLE, config)

    def _fits(self, path: str) -> bool:
        """Return whether a file is such a table by its suffix, and by its start."""
        ending = suffix(uncompressed(unsigned(path)))
        if ending in ("txt", "token"):
            return self.name == "csv" and is_list(head(path))
        is_rows = ending != "json" or place_of_rows(path) is not None
        return ending in self.source.suffixes and is_rows

    def _metadata(self, tree: Tree) -> list[str]:
        """Return Hugging Face's metadata.csv (.jsonl), at the top or in each split's folder."""
        metadata = f"metadata.{self.source.suffixes[0]}"
        if metadata in tree.look().files:
            files = [metadata]
        else:
            folders = [name for name in tree.first_folders() if metadata in tree.look(name).files]
            files = [joined(name, metadata) for name in sorted(folders) if is_split(name)]
            files = files if len(files) == len(folders) else []
        names_files = files and b"file_name" in tree.head(files[0])
        return files if names_files or not any(map(media_kind, tree.files())) else []

    def _naming(self, tree: Tree, tables: Sequence[str], config: BuildConfig) -> list[str]:
        """Return the tables that name files of the tree; of several the ones with labels."""
        if len(tables) > _TABLES and _are_one(tree, tables):
            return [*tables] if self._plan_of(tree, tables[0], config) else []
        plans = {name: self._plan_of(tree, name, config) for name in tables[:_TABLES]}
        plans = {
            name: plan
            for name, plan in plans.items()
            if (plan.roles.key if plan else _MEDIA_NAME.search(tree.head(name)))
        }
        of_splits = splits_of_tables([*map(name_of, plans)])
        if len(of_splits) > 1:
            return [name for name in plans if name_of(name) in of_splits]
        labelled = [
            name for name, plan in plans.items() if plan and (plan.roles.has_target or plan.problem)
        ]
        return labelled or [name for name, plan in plans.items() if not plan or _covers(tree, plan)]

    def _larger(self, tree: Tree, tables: Sequence[str], config: BuildConfig) -> list[str]:
        """Return the tables that have more rows than the tree has images, audio and arrays.

        Such a table is as good a claim as the files in folders, so the user decides.
        """
        num_files = len(tree.files_of("image", "audio", "array"))
        return [
            name
            for name in tables[:_TABLES]
            if tree.is_known
            and _num_rows(tree, name) > num_files
            and self._plan_of(tree, name, config)
        ]

    def _plan_of(self, tree: Tree, name: str, config: BuildConfig) -> TablePlan | None:
        """Return what a table is read as; None if it cannot be."""
        try:
            return self._source(tree, [name], config).plan()[0]
        except (ConfigError, DataError):
            return None

    def _source(self, tree: Tree, names: Sequence[str], config: BuildConfig) -> ReadTables:
        reads = tuple(names) if tree.is_folder else ()  # no folder of the web can be asked
        path = tree.root if tree.is_folder else tree.input
        claim = Claim(layout=self.name, rank=Rank.TABLE, path=path, reads=reads)
        source = reading(self.source)(claim, config, "")
        assert isinstance(source, ReadTables)
        return source

    def _claim(
        self,
        tree: Tree,
        names: Sequence[str],
        rank: Rank,
        config: BuildConfig,
    ) -> Claim | None:
        if not names:
            return None
        claim = Claim(
            layout=self.name,
            rank=rank,
            path=tree.input,
            reads=tuple(names) if tree.is_folder else (),
            understood=(("files", ", ".join(names) if len(names) < 5 else shown(names, "table")),),
        )
        if names[1:] and not _are_one(tree, names):
            facts = {"path": tree.input, "number": len(names), "tables": ", ".join(names[:5])}
            problem = Problem(
                code="several tables", facts=facts, option="ignore", choices=("all but one",)
            )
            return dataclasses.replace(claim, problem=problem)
        return _planned(claim, self._source(tree, names, config))


def _num_rows(tree: Tree, name: str) -> int:
    """Estimate the number of rows of a table by its size and first lines; 0 if it has no lines."""
    start = tree.head(name)
    if suffix(name) not in _OF_LINES or not start:
        return 0
    return start.count(b"\n") * (storage.size(tree.path(name)) or 0) // len(start)


def _covers(tree: Tree, plan: TablePlan) -> bool:
    """Return whether a table names files in the folders of most files of a tree."""
    folders: set[str] = set()
    for row in plan.sample.rows:
        with contextlib.suppress(RecordError):  # outside the input: rejected when the row is read
            folders.add(folder(row.file.key_of(str(row.values.get(plan.roles.key)))))
    homes = [folder(name) for name in tree.files() if media_kind(name)]
    return sum(home in folders for home in homes) * 2 >= len(homes)


def _are_one(tree: Tree, names: Sequence[str]) -> bool:
    """Return whether tables are those of splits, or parts of one with the same first line.

    Parts are in a folder each, or differ in a number.
    """
    files = [*map(name_of, names)]
    if len(splits_of_tables(files)) == len(names) or len(set(files)) == 1:
        return True
    forms = {_NUMBER.sub("0", file) for file in files}
    are_parts = len(forms) == 1 or len(set(map(folder, names))) == len(names)
    return are_parts and len({tree.head(name).partition(b"\n")[0] for name in names}) == 1


def _planned(claim: Claim, source: ReadTables) -> Claim:
    """Return the claim with what the tables are read as, or why they cannot be."""
    try:
        plan, _ = source.plan()
    except ConfigError as error:
        problem = error.problem if isinstance(error, ProblemError) else error
        return dataclasses.replace(claim, problem=problem)
    except DataError:  # it is raised when the file is read
        return claim
    understood = (*claim.understood, *plan.understood)
    options = _options(plan, source)
    return dataclasses.replace(claim, understood=understood, options=options, problem=plan.problem)


def _options(plan: TablePlan, source: ReadTables) -> Mapping[str, Any]:
    """Return what was decided by looking, by option; those of the user stay."""
    roles, stated = plan.roles, plan.sample.tables[0].header
    is_numeric = plan.sample.column(roles.label).is_numeric
    label = roles.label if roles.label in stated and not is_numeric else ""
    found = {
        "label_column": label,
        "split_column": roles.split,
        "box_format": roles.boxes.format if not roles.boxes.has_runs else "",
        "label_separator": roles.separator.strip("\n"),
        **{
            f"{media.kind}_column": media.column
            for media in roles.media
            if media.feature in ("image", "audio") and media.column in stated
        },
    }
    if source.schema:
        return {}
    return {name: value for name, value in found.items() if value and not getattr(source, name)}


def _table_layout(name: str, sign: str, source: type[ReadTables]) -> Layout:
    return source_layout(name, sign, source, _Tables(name, source).claim)


def _container_layout(
    name: str,
    sign: str,
    source: type[ReadContainers],
    begins: Callable[[str], bool] | None = None,
) -> Layout:
    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        """Claim files of its suffixes, except indexes of TFRecord files (docs/format.md)."""
        files = [
            name
            for name in sorted(itertools.chain(*map(tree.files_with, source.suffixes)))
            if ".tfrecord" not in name
            if begins is None or begins(tree.path(name)) or config.layout == layout.name
        ]
        if not files and config.layout == layout.name and not tree.is_folder:
            files = [*tree.files()]
        if not files:
            return None
        is_metadata = {*map(name_of, files)} == {f"metadata.{source.suffixes[0]}"}
        whole = Claim(
            layout=name,
            rank=Rank.NAMED_TABLE if is_metadata else Rank.CONTAINER,
            path=tree.input,
            understood=(("files", shown(files, "file") + splits_shown(files)),),
        )
        if stated := next((file for file in files if "=" in folder(file)), ""):
            facts = {"path": tree.input, "file": stated}
            return dataclasses.replace(
                whole, problem=Problem(code="values in folders", facts=facts)
            )
        if len(files) > 1:
            return whole
        only = layout.read(dataclasses.replace(whole, path=tree.path(files[0])), config, "")
        assert isinstance(only, ReadTables)
        return _planned(whole, only)

    layout = source_layout(name, sign, source, claim)
    return layout


CSV = _table_layout(
    "csv",
    "one .csv or .tsv file that names images, audio or arrays, or that holds all data itself",
    ReadCsv,
)
JSONL = _table_layout(
    "jsonl",
    "one such .jsonl or .ndjson file, or a .json file that is a list of objects",
    ReadJsonl,
)
XLSX = _table_layout("xlsx", "one .xlsx file", ReadXlsx)
PARQUET = _container_layout("parquet", ".parquet files", ReadParquet)
ARROW = _container_layout("arrow", ".arrow or .feather files", ReadArrow)
SQLITE = _container_layout(
    "sqlite",
    ".db or .sqlite files that begin like SQLite databases",
    ReadSqlite,
    begins=lambda path: head(path).startswith(MAGIC),
)
