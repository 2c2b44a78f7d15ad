"""Which tables of a tree tell of its files: each reading is tried before it is chosen, or named."""

import contextlib
import dataclasses
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.annotation_formats import described
from beam_pipeline.sources.as_tables import as_table
from beam_pipeline.sources.beside import may_hold_data
from beam_pipeline.sources.folders.imagenet import class_list
from beam_pipeline.sources.layout import Input
from beam_pipeline.sources.manifest.csv_dialect import list_named, own_list_as_csv
from beam_pipeline.sources.manifest.csv_table import CsvTable
from beam_pipeline.sources.manifest.files import splits_of
from beam_pipeline.sources.manifest.first_rows import FirstRow, first_rows
from beam_pipeline.sources.manifest.layout import tables_of_folders
from beam_pipeline.sources.manifest.read import ReadCsv, ReadManifest
from beam_pipeline.sources.manifest.read_json import ReadJsonl
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.manifest.whereabouts import TwoPlacesError
from beam_pipeline.sources.paths import folder, is_submission, media_kind, stem, suffix
from beam_pipeline.sources.references import is_inside, name_of, parent
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.split_names import is_of_training, split_in_name

_SOURCES: dict[str, type[ReadManifest]] = {
    **dict.fromkeys(("csv", "tsv", "txt"), ReadCsv),
    **dict.fromkeys(("jsonl", "ndjson"), ReadJsonl),
}
_MAX_TABLES = 20
_OF_FOLD = re.compile(r"fold[_-]?\d")
_MAX_NAMED = 3
# Of lists and annotations in whatever form.
_LISTS = frozenset({"mat", "txt", "yaml", "yml", "stm", "trn", "lst", "dat"})
_HELD_BACK = ("test", "val", "valid", "validation")


class Reading(NamedTuple):
    """Tables of a tree that name its files: one, or one a split.

    Attributes:
        layout: "csv" or "jsonl".
        tables: Their paths below the tree.
        has_labels: Whether they tell classes or boxes of the files.
        ways: How a user names them: "labels.csv", "meta/esc50.csv with --image-root audio"; none
            where that takes the whole tree.
        problem: Why they cannot be read without an option, and with which; "" where they can.
        is_list: Whether they have a file and its class a line.
        has_run_lengths: Whether they have the masks of the files' objects.
        differs: How their classes differ from the folders of the files; "" where those of a folder
            are of one class.
    """

    layout: str
    tables: tuple[str, ...]
    has_labels: bool
    ways: tuple[str, ...]
    problem: str = ""
    is_list: bool = False
    has_run_lengths: bool = False
    differs: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether these are tables of all; texts may be anything but where they are lists."""
        are_texts = any(suffix(name) == "txt" for name in self.tables)
        is_part = self.is_one_fold or _is_held_back(self.tables) or self.is_of_folders
        return not is_part and (self.is_list or not are_texts)

    @property
    def is_one_fold(self) -> bool:
        """Whether it is a fold's list of a share of the files: fold1_train.txt."""
        return len(self.tables) == 1 and bool(_OF_FOLD.match(name_of(self.tables[0])))

    @property
    def is_of_folders(self) -> bool:
        """Whether it is a table a class folder, of which a user names the folder of all."""
        return len(self.tables) > len(self.ways) == 1

    def __str__(self) -> str:
        """ "give labels.csv"."""
        return f"give {self.ways[-1]}"


def _is_held_back(tables: Sequence[str]) -> bool:
    """Whether there is but one table, called after a split of which a model learns nothing."""
    return len(tables) == 1 and split_in_name(stem(tables[0])) in _HELD_BACK


def readings(tree: Tree) -> list[Reading]:
    """The readings of a tree by its tables: one, if it is clear which; none if none names files.

    Those that tell classes or boxes come before others, and tables of several splits before
    others. What is called as a competition's submission is no table.
    """
    names = [name for name in tree.files() if suffix(name) in _SOURCES and not is_submission(name)]
    names.sort(key=lambda name: (name.count("/"), name))
    homes = dict.fromkeys(folder(folder(name)) for name in names if name.count("/") > 1)
    of_folders = {home: tables for home in homes if (tables := tables_of_folders(tree, home))}
    names = [name for name in names if folder(folder(name)) not in of_folders]
    found = [each for name in names[:_MAX_TABLES] if (each := _reading(tree, name))]
    found = [_together(several) for several in _groups(found)]
    found += [
        each._replace(tables=tables, ways=(shlex.quote(tree.path(home)),))
        for home, tables in of_folders.items()
        if (each := _reading(tree, tables[0]))
    ]
    best = max(map(_rank, found), default=None)
    found = [each for each in found if _rank(each) == best]
    return [each for each in found if not each.is_one_fold] or found


def others_as_good(tables: Sequence[str], tree: Tree) -> list[Reading]:
    """The readings of a tree, where others than that of these tables, all that state paths, do."""
    if not {*filter(is_table, tree.files())} - {*tables}:
        return []
    several = [each for each in readings(tree) if each.ways and each.is_sure]
    return several if several[1:] else []


def is_table(name: str) -> bool:
    """Whether a file may be a table by its suffix; what a competition wants is none."""
    return suffix(name) in _SOURCES and suffix(name) != "txt" and not is_submission(name)


def _rank(reading: Reading) -> tuple[bool, bool]:
    return reading.has_labels, len(reading.tables) > 1


def _groups(found: Sequence[Reading]) -> list[list[Reading]]:
    """Readings of one table each, with those of other splits beside them."""
    alone = {each.tables[0]: each for each in found}
    groups: list[list[Reading]] = []
    for key in (folder, lambda name: (folder(folder(name)), name_of(name))):
        for _, group in itertools.groupby(sorted(alone, key=key), key=key):
            several = list(group)
            splits = splits_of(several)
            named = [name for name in several if splits[name]]
            if len(named) > 1 and len({alone[name].layout for name in named}) == 1:
                groups.append([alone.pop(name) for name in named])
    return groups + [[each] for each in alone.values()]


def _together(several: Sequence[Reading]) -> Reading:
    refused = [each for each in several if each.problem]
    refused.sort(key=lambda each: _is_held_back(each.tables))
    return Reading(
        several[0].layout,
        tuple(each.tables[0] for each in several),
        any(each.has_labels for each in several),
        tuple(way for each in several for way in each.ways),
        refused[0].problem if refused else "",
        all(each.is_list for each in several),
        all(each.has_run_lengths for each in several),
        next((each.differs for each in several if each.differs), ""),
    )


def _reading(tree: Tree, name: str) -> Reading | None:
    """What a table says of the files of a tree; None if it names none, or cannot be read."""
    source = _SOURCES[suffix(name)](
        tree.root, names=(name,), ignored=tree.ignored, quiet=True, tree=tree
    )
    layout = "csv" if isinstance(source, ReadCsv) else "jsonl"
    try:
        job = source.job()
    except TwoPlacesError as error:
        return Reading(layout, (name,), True, (), str(error))
    except BeamTFRecordsError:
        return None
    columns = job.questions.columns
    if not columns.media:
        return None
    has_labels = bool(columns.labels or columns.corners or columns.boxes)
    [table] = job.tables
    is_list = isinstance(table, CsvTable) and not table.has_header
    if is_list and not any(storage.exists(path) for _, path in _files_of(table, columns.key)):
        return None
    if len(table.header) == 1 and suffix(name) == "txt":  # a list says nothing of its files
        return None
    return Reading(
        layout,
        (name,),
        has_labels,
        _ways(table, storage.join(tree.root, name)),
        is_list=is_list,
        has_run_lengths=columns.has_runs,
        differs=_differs(table, columns.key, [column for _, column in columns.labels]),
    )


def _ways(table: Table, path: str) -> tuple[str, ...]:
    """How a user names a table, with the options that say where its files are."""
    files = table.manifest.folder
    options = {"--layout": "csv"} if suffix(path) == "txt" else {}
    if not is_inside(files, [parent(path)]):
        if table.manifest.folders or table.manifest.before or table.manifest.ending:
            return ()  # no option names several folders, or parts of other paths
        options["--image-root"] = files
        if template := "".join(
            literal + (f"{{{column}}}" if column else "")
            for literal, column in table.cells.template
        ):
            options["--image-template"] = template
    typed = " ".join(f"{option} {shlex.quote(value)}" for option, value in options.items())
    return (shlex.quote(path) + (f" with {typed}" if typed else ""),)


def _files_of(table: Table, column: str) -> Iterator[tuple[FirstRow, str]]:
    """The first rows of a table, with the paths of the files that they name."""
    for row in first_rows([table]):
        with contextlib.suppress(RecordError):  # it lies outside the input
            yield row, table.manifest.path_of(str(row.values[column]))


def _differs(table: Table, key: str, labels: Sequence[str]) -> str:
    """ "'cat' and 'dog' of files in a/", where a table has two classes in one folder; else ""."""
    first: dict[str, str] = {}
    for row, path in _files_of(table, key) if len(labels) == 1 else ():
        label = str(row.values.get(labels[0]) or "")
        one = first.setdefault(parent(path), label)
        if label and one and one != label and storage.exists(path):
            return f"{one!r} and {label!r} of files in {name_of(parent(path))}/"
    return ""


def _or_else(found: Sequence[Reading]) -> str:
    """What a refusal says of readings: "; or give a.csv; or, to read what it says, give b.csv"."""
    if found[1:] and not any(each.ways for each in found):
        others = [shlex.quote(name) for each in found[1:] for name in each.tables]
        ignoring = " ".join(f"--ignore {name}" for name in others)
        return f"; or, to read {', '.join(found[0].tables)}, pass {ignoring}"
    return "".join(
        f"; or {each}" if each.has_labels else f"; or, to read what it says, {each}"
        for each in [each for each in found if each.ways][:_MAX_NAMED]
    )


def with_tables(found: Input, tree: Tree, tables: Sequence[Reading]) -> Input:
    """Folders in doubt with the tables that tell, or with whose the files beside them are."""
    beside = [*filter(may_hold_data, tree.outside), *filter(may_hold_data, tree.files())]
    told = _or_else(tables)
    if not told:
        whose = own_list(tree) or as_table(tree) or _list(tree) or described(tree.root, beside)
        place = found.place
        whose = whose or _table_alone(tree) or _to_write(place.doubt + place.one_class, beside)
        told = f"; {whose}" if whose else ""
    doubt, one_class = (each and each + told for each in (found.place.doubt, found.place.one_class))
    place = found.place._replace(doubt=doubt, one_class=one_class)
    return dataclasses.replace(found, place=place)


def _list(tree: Tree) -> str:
    """How a list without header is read whose first line names a file; "" where there is none."""
    for name in [each for each in tree.files() if suffix(each) == "txt"][:_MAX_TABLES]:
        told = list_named(tree.path(name), tree.head(name))
        first = re.split(r"[\t|;, ]", tree.head(name).decode(errors="replace"), maxsplit=1)[0]
        home = next((each for each in (folder(name), "") if _is_in(tree, each, first)), None)
        if told and home is not None:
            root = "" if home == folder(name) else f" --image-root {shlex.quote(tree.root)}"
            return f"or {told}{root}"
    return ""


def _is_in(tree: Tree, home: str, name: str) -> bool:
    return bool(media_kind(name)) and storage.exists(storage.join(tree.path(home), name))


def refuse_other_classes(found: Input, tree: Tree) -> None:
    """Raises ConfigError where a table has other classes than the folders that state them."""
    if not any(map(is_table, itertools.chain(tree.outside, tree.files()))):
        return
    ours = name_of(class_list(tree))  # which is read with the folders
    for each in readings(tree):
        if each.differs and name_of(each.tables[0]) != ours:
            way = str(each) if each.ways else f"pass --layout {each.layout}"
            raise ConfigError(
                f"{found.path} has class folders, but {each.tables[0]} has other classes, such as "
                f"{each.differs}: to read the table, {way}; to read the folders, pass --ignore "
                f"{shlex.quote(name_of(each.tables[0]))}"
            )


def leaves_out_train(tables: Sequence[str], tree: Tree) -> bool:
    """Whether the only table is that of test images, and folders hold those of train."""
    places = {folder(path) for path in tree.files() if media_kind(path)}
    return _is_held_back(tables) and any(
        is_of_training(part) for place in places for part in place.split("/")
    )


def _table_alone(tree: Tree) -> str:
    """ "or give train.csv to read that table alone", of a table whose rows name no files."""
    tables = sorted(filter(is_table, tree.files()))
    of_train = [name for name in tables if is_of_training(stem(name))]
    path = shlex.quote(tree.path([*of_train, *tables][0])) if tables else ""
    return f"or give {path} to read that table alone" if path else ""


def _to_write(problem: str, beside: Sequence[str]) -> str:
    """What helps where files beside are of forms that nothing here knows."""
    is_open = "re not read" in problem or "was not read" in problem
    if not is_open or " by python " in problem or _LISTS.isdisjoint(map(suffix, beside)):
        return ""
    return "or write what such files say into a table with a row per file (docs/manifests.md)"


def own_list(tree: Tree) -> str:
    """How CelebA's own list of attributes becomes a table; "" where there is none."""
    own = next((name for name in tree.files() if name_of(name) == "list_attr_celeba.txt"), "")
    return own_list_as_csv(tree.path(own)) if own else ""
