"""The layouts of tables: `csv`, `jsonl`, `xlsx`, `parquet` and `arrow`."""

import contextlib
import dataclasses
import glob
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.option_values import AUTO
from beam_pipeline.problems import Problem, ProblemError, Reading
from beam_pipeline.sources.layout import Claim, Layout, Rank, reading, source_layout, splits_shown
from beam_pipeline.sources.paths import (
    ARRAY_SUFFIXES,
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    below,
    folder,
    is_submission,
    joined,
    media_kind,
    name_of,
    suffix,
    uncompressed,
)
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tables.columnar import ReadArrow, ReadParquet
from beam_pipeline.sources.tables.csv import ReadCsv, has_rows, is_list
from beam_pipeline.sources.tables.json import ReadJsonl, place_of_rows
from beam_pipeline.sources.tables.plan import TablePlan
from beam_pipeline.sources.tables.read_tables import ReadContainers, ReadTables
from beam_pipeline.sources.tables.xlsx import ReadXlsx
from beam_pipeline.sources.tree import Tree, head, shown
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.format.split_names import is_split, splits_of_files
from tfrecord_dataset.store.urls import unsigned

_MEDIA_NAME = re.compile(
    rf"\.({'|'.join(sorted(IMAGE_SUFFIXES | AUDIO_SUFFIXES | ARRAY_SUFFIXES))})\b".encode(),
    re.IGNORECASE,
)
_NUMBER = re.compile("[0-9]+")
# Number of tables of a tree to look into.
_TABLES = 20
# Up to so many tables, a question names the options that read each of them.
_FEW_TABLES = 3
# Suffixes of tables with a row per line.
_OF_LINES = frozenset({"csv", "tsv", "jsonl", "ndjson"})
# Suffixes of files next to tables that hold all data.
_BESIDE_TABLES = frozenset({
    "", "csv", "tsv", "jsonl", "ndjson", "json", "yaml", "yml", "txt", "md", "rst", "xlsx", "html",
    "pdf", "names",
})  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class _Tables:
    """Claims the tables of a tree that `source` reads."""

    name: str
    source: type[ReadTables]
    tree: Tree
    config: BuildConfig
    plans: dict[str, TablePlan | None] = dataclasses.field(default_factory=dict)

    def claim(self) -> Claim | None:
        """Claim tables that name files of the tree, or hold all its data."""
        tree, is_asked = self.tree, self.config.layout == self.name
        if not tree.is_folder:  # a pattern says that its files are one table
            matched = sorted(tree.files())
            fits = [self._fits(tree.path(name)) for name in matched]
            are_one = all(fits) or (is_asked and not any(fits))
            return self._claim(matched if are_one else [])
        if metadata := self._metadata():
            return self._claim(metadata, Rank.NAMED_TABLE)
        tables, names = self._tables(), tree.files()
        at_top = [name for name in tables if "/" not in name]
        if tree.only_folder and not at_top:
            return None  # the content of that folder is claimed
        if all(suffix(uncompressed(name)) in _BESIDE_TABLES for name in names):
            return self._claim(at_top or tables)
        naming: list[str] = []
        if any(map(media_kind, names)):
            naming = self._naming(at_top) or self._naming(tables)
        if not naming and is_asked:
            naming = at_top or tables
        if not naming and self.config.layout == AUTO:
            return self._claim(self._larger(at_top), Rank.FOLDERS)
        return self._claim(naming)

    def _tables(self) -> list[str]:
        """Return the tables of a folder; submissions only if there is no other data."""
        tree = self.tree
        tables = [name for name in tree.files_of("") if self._fits(tree.path(name))]
        if tables and not tree.has_all_folders and all("/" in name for name in tables):
            every = (file.relative for file in storage.list_files(tree.root))
            tables = [name for name in every if not tree.ignored(name)]
            tables = [name for name in tables if self._fits(tree.path(name))]
        data = (name for name in tree.files() if may_hold_data(name) or media_kind(name))
        if not all(map(is_submission, data)):
            tables = [name for name in tables if not is_submission(name)]
        is_asked = self.config.layout == self.name == "csv"
        return tables or (texts_of_rows(tree) if is_asked else [])

    def _fits(self, path: str) -> bool:
        """Return whether a file is a table of this layout, by its suffix and first bytes."""
        ending = suffix(uncompressed(unsigned(path)))
        if ending in ("txt", "token"):
            return self.name == "csv" and is_list(head(path))
        if ending not in self.source.suffixes:
            return False
        return ending != "json" or place_of_rows(path) is not None

    def _metadata(self) -> list[str]:
        """Return Hugging Face's metadata.csv (.jsonl), at the top or in each split's folder."""
        tree, metadata = self.tree, f"metadata.{self.source.suffixes[0]}"
        files = [metadata] if metadata in tree.look().files else []
        if not files:
            folders = [name for name in tree.first_folders() if metadata in tree.look(name).files]
            if all(map(is_split, folders)):
                files = [joined(name, metadata) for name in sorted(folders)]
        names_files = files and b"file_name" in tree.head(files[0])
        return files if names_files or not any(map(media_kind, tree.files())) else []

    def _naming(self, tables: Sequence[str]) -> list[str]:
        """Return the tables that name files of the tree, preferably those with labels."""
        tree = self.tree
        if len(tables) > _TABLES and _are_one(tree, tables):
            return [*tables] if self._plan_of(tables[0]) else []
        plans = {name: self._plan_of(name) for name in tables[:_TABLES]}
        plans = {
            name: plan
            for name, plan in plans.items()
            if (plan.roles.key if plan else _MEDIA_NAME.search(tree.head(name)))
        }
        of_splits = splits_of_tables([*map(name_of, plans)])
        if len(of_splits) > 1:
            return [name for name in plans if name_of(name) in of_splits]
        if plans and _are_one(tree, [*plans]):
            return [*plans]
        labelled = [
            name for name, plan in plans.items() if plan and (plan.roles.has_target or plan.problem)
        ]
        return labelled or [name for name, plan in plans.items() if not plan or _covers(tree, plan)]

    def _larger(self, tables: Sequence[str]) -> list[str]:
        """Return the tables that have more rows than the tree has images, audio and arrays.

        Such a table is as good a claim as files in folders, so the user decides.
        """
        num_files = len(self.tree.files_of("image", "audio", "array"))
        return [
            name
            for name in (tables[:_TABLES] if self.tree.is_known else ())
            if _num_rows(self.tree, name) > num_files and self._plan_of(name)
        ]

    def _plan_of(self, name: str) -> TablePlan | None:
        """Plan a table; None if it cannot be read.

        Ignores the user's schema, which may lack the column of files, and columns that it lacks.
        """
        if name not in self.plans:
            self.plans[name] = None
            config = dataclasses.replace(self.config, schema=())
            for each in (config, dataclasses.replace(config, label_column="", ignore_columns=())):
                with contextlib.suppress(ConfigError, DataError):
                    self.plans[name] = self._source([name], each).plan()
                    break
        return self.plans[name]

    def _source(self, names: Sequence[str], config: BuildConfig) -> ReadTables:
        source = reading(self.source)(self._unplanned(names), config, "")
        assert isinstance(source, ReadTables)
        return source

    def _unplanned(self, names: Sequence[str], rank: Rank = Rank.TABLE) -> Claim:
        is_file = self.tree.is_file  # web folders cannot be listed
        return Claim(
            layout=self.name,
            rank=rank,
            path=self.tree.input if is_file else self.tree.root,
            reads=() if is_file else tuple(names),
            understood=(("files", _listed(names)),),
        )

    def _claim(self, names: Sequence[str], rank: Rank = Rank.TABLE) -> Claim | None:
        if not names:
            return None
        tree, claim = self.tree, self._unplanned(names, rank)
        if tree.is_folder and names[1:] and not _are_one(tree, names):
            return dataclasses.replace(claim, problem=_which_tables(tree, names))
        if self.config.layout == AUTO and (problem := _without_folders(claim, names)):
            return dataclasses.replace(claim, problem=problem)
        config = self.config
        is_other = names[1:] or config.schema or config.label_column or config.ignore_columns
        plan = None if is_other else self.plans.get(names[0])
        return with_plan(claim, self._source(names, self.config), plan)


def texts_of_rows(tree: Tree) -> list[str]:
    """Return those of the first few files without media whose lines are rows; of any suffix."""
    return [name for name in tree.files_of("")[:_TABLES] if has_rows(tree.head(name))]


def _num_rows(tree: Tree, name: str) -> int:
    """Estimate the number of rows of a table from its size and first lines; 0 without lines."""
    start = tree.head(name)
    if suffix(name) not in _OF_LINES or not start:
        return 0
    return start.count(b"\n") * (storage.size(tree.path(name)) or 0) // len(start)


def _covers(tree: Tree, plan: TablePlan) -> bool:
    """Return whether a table names files in the folders that hold most of a tree's files."""
    folders: set[str] = set()
    for file, name in plan.sample.cells(plan.roles.key):
        with contextlib.suppress(RecordError):  # outside the input: rejected when the row is read
            folders.add(folder(file.key_of(str(name))))
    homes = [folder(name) for name in tree.files() if media_kind(name)]
    return sum(home in folders for home in homes) * 2 >= len(homes)


def _are_one(tree: Tree, names: Sequence[str]) -> bool:
    """Return whether tables are splits, or parts of one table with the same first line.

    Parts are in separate folders, or differ in a number.
    """
    files = [*map(name_of, names)]
    if len(splits_of_tables(files)) == len(names) or len(set(files)) == 1:
        return True
    forms = {_NUMBER.sub("0", file) for file in files}
    are_parts = len(forms) == 1 or len(set(map(folder, names))) == len(names)
    return are_parts and _have_one_header(tree, names)


def _have_one_header(tree: Tree, names: Sequence[str]) -> bool:
    return len({tree.head(name).partition(b"\n")[0] for name in names}) == 1


def _without_folders(claim: Claim, names: Sequence[str]) -> Problem | None:
    """Return the question of folders that may be classes: several tables in some, no splits."""
    numbers = Counter(map(folder, names))
    if len(numbers) == 1 or max(numbers.values()) == 1 or any(splits_of_files(names)):
        return None
    tables, homes = shown(names, "table"), shown(sorted(numbers), "folder")
    facts = {"path": claim.path, "tables": tables, "folders": homes}
    effect = "read the rows of all tables without them"
    reading = Reading({"layout": (claim.layout,)}, effect)
    return Problem(code="tables in folders", facts=facts, readings=(reading,))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 5 else shown(names, "table")


def _which_tables(tree: Tree, names: Sequence[str]) -> Problem:
    """Return the question which of several tables to read: those named after splits, or one."""
    facts = {"path": tree.input, "tables": shown(names, "table"), "first": names[0], "as_one": ""}
    pattern = f"*.{suffix(names[0])}"
    hold_all = sorted(names) == [*tree.files_with(suffix(names[0]))] and not any(
        map(media_kind, tree.files())
    )
    if hold_all and not any(map(folder, names)) and _have_one_header(tree, names):
        facts["as_one"] = f" (give '{below(tree.input, pattern)}' to read them as one)"
    of_splits = splits_of_tables([*map(name_of, names)])
    named = [name for name in names if name_of(name) in of_splits]
    if not named and len(names) > _FEW_TABLES:
        return Problem(code="many tables", facts=facts)
    readings = []
    for kept in [named] if named else [[name] for name in names]:
        others = tuple(glob.escape(name) for name in names if name not in kept)
        readings.append(Reading({"ignore": others}, f"read {_listed(kept)}"))
    return Problem(code="several tables", facts=facts, readings=tuple(readings))


def with_plan(claim: Claim, source: ReadTables, plan: TablePlan | None = None) -> Claim:
    """Add the plan of the tables to the claim, or the problem with reading them."""
    try:
        plan = plan or source.plan()
    except ConfigError as error:
        problem = error.problem if isinstance(error, ProblemError) else error
        return dataclasses.replace(claim, problem=problem)
    except DataError:  # it is raised when the file is read
        return claim
    return dataclasses.replace(
        claim,
        understood=(*claim.understood, *plan.understood),
        options=_options(plan, source),
        problem=plan.problem,
        plan=plan,
    )


def _options(plan: TablePlan, source: ReadTables) -> Mapping[str, Any]:
    """Return the values found in the data by option; the user's options stay."""
    if source.schema:
        return {}
    roles, stated = plan.roles, plan.sample.tables[0].header
    is_numeric = plan.sample.column(roles.label).is_numeric
    found = {
        "label_column": roles.label if roles.label in stated and not is_numeric else "",
        "split_column": roles.split,
        "box_format": roles.boxes.format if not roles.boxes.has_runs else "",
        "label_separator": roles.separator.strip("\n"),
    } | {
        f"{media.feature}_column": media.column
        for media in roles.media
        if media.feature == media.kind != "array" and media.column in stated
    }
    return {name: value for name, value in found.items() if value and not getattr(source, name)}


def _table_layout(name: str, sign: str, source: type[ReadTables]) -> Layout:
    return source_layout(
        name, sign, source, lambda tree, config: _Tables(name, source, tree, config).claim()
    )


def _container_layout(name: str, sign: str, source: type[ReadContainers]) -> Layout:
    def claim(tree: Tree, config: BuildConfig) -> Claim | None:
        """Claim files with the source's suffixes, except TFRecord indexes (docs/format.md)."""
        is_asked = config.layout == name
        files = [
            file
            for file in sorted(itertools.chain(*map(tree.files_with, source.suffixes)))
            if ".tfrecord" not in file
        ]
        if not files and is_asked and not tree.is_folder:
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
            problem = Problem(code="values in folders", facts={"path": tree.input, "file": stated})
            return dataclasses.replace(whole, problem=problem)
        if len(files) > 1:
            return whole
        only = reading(source)(whole, config, "")
        assert isinstance(only, ReadTables)
        return with_plan(whole, only)

    return source_layout(name, sign, source, claim)


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
