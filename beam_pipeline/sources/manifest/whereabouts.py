"""Where the files lie that a table names, if not beside it: what makes paths of its values."""

import dataclasses
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.columns.choice import lowered
from beam_pipeline.sources.columns.column import LABELS, TableOptions
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.first_rows import Seen, is_there, texts_of
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.paths import below, media_kind, stem, suffix
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.tree import Listing, Tree
from tfrecord_dataset.split_names import split_in_name

_MAX_COLUMNS = 100
# Of a column's values so many are looked for, where the names of a folder are not all at hand.
_ASKED_FOR = 10
_NUMBER = re.compile(r"\d+")
# So many of those that are looked for must be there: of ids, and of what ends as a file's name.
_SHARE, _SHARE_OF_NAMES = 0.9, 0.5


class TwoPlacesError(ConfigError):
    """A table names the files of several folders, or of two suffixes: a user must say which."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """What makes paths of the values of a column.

    Attributes:
        column: Its name.
        folders: Where the files lie, absolute paths or URLs: each value in one of them.
        suffix: Of the files, where the values have none; else "".
        kind: "image", "audio" or "array".
        there: The values that were looked for and are there.
        between: What stands between a value, as a folder, and the same as a name: "/images/" of
            "a/images/a.png"; "" where no folder is called so.
    """

    column: str
    folders: tuple[str, ...]
    suffix: str
    kind: str
    there: frozenset[str]
    between: str = ""

    def names_most(self, asked: Collection[str]) -> bool:
        """Whether most of the values that were looked for are there."""
        return len(self.there) >= (_SHARE if self.suffix else _SHARE_OF_NAMES) * len(asked)

    @property
    def pattern(self) -> str:
        """The files, as a user might write them."""
        ending = f".{self.suffix}" if self.suffix else ""
        return f"{self.folders[0]}/*{self.between and f'{self.between}*'}{ending}"


def whereabouts(
    tree: Tree, texts: Mapping[str, Sequence[str]], split: str = ""
) -> list[Whereabouts]:
    """The column whose values, with a folder and perhaps a suffix, are files of a tree.

    Several folders are taken together where each has other files.

    Args:
        tree: Where the files are looked for.
        texts: Values by column.
        split: That the table's name states: of several folders the one that states it, too.

    Returns:
        None if no column names most files; several where a column names those of several folders,
        or of several suffixes.
    """
    places = {
        tree.path(place): listing
        for place, listing in tree.walked.items()
        if any(map(media_kind, listing.files))
    }
    are_whole = all(listing.is_whole for listing in places.values())
    asked = {
        name: values if are_whole and not _are_paths(values) else values[:_ASKED_FOR]
        for name, values in list(texts.items())[:_MAX_COLUMNS]
    }
    parts = [
        part
        for column, values in asked.items()
        for folder, listing in places.items()
        for part in _in_folder(folder, listing, column, values)
    ]
    for column, values in asked.items():
        if _are_paths(values) and all(map(media_kind, values)):
            parts += _below_folders(tree, column, values)
    found = [*parts, *_together(parts)]
    found += [part for name, values in asked.items() for part in _called_so(tree, name, values)]
    most = [each for each in found if each.names_most(asked[each.column])]
    if not most:
        return []
    # A name with its suffix says more than an id that it begins with.
    by_name = {each.column for each in most if not each.suffix}
    column = max(
        (each.column for each in most), key=lambda name: (len(texts[name]), name in by_name)
    )
    most = [each for each in most if each.column == column]
    most = [each for each in most if len(each.there) == max(len(one.there) for one in most)]
    if called_so := [each for each in most if each.between]:
        return called_so[:1]
    alike = [each for each in most if split and split_in_name(name_of(each.folders[0])) == split]
    return [part for each in alike or most for part in _with_numbered(each, places)]


def _with_numbered(found: Whereabouts, places: Mapping[str, Listing]) -> list[Whereabouts]:
    """`found`, with folders of other numbers, in which the files of later rows may be.

    Where these have files of the same names, as the frames of several videos, it is one of two.
    """
    forms = {_NUMBER.sub("0", folder) for folder in found.folders}
    others = [
        folder
        for folder in sorted(places)
        if folder not in found.folders and _NUMBER.sub("0", folder) in forms
    ]
    names = {name for folder in found.folders if folder in places for name in places[folder].files}
    if same := [each for each in others if not names.isdisjoint(places[each].files)]:
        return [found, dataclasses.replace(found, folders=(same[0],))]
    return [dataclasses.replace(found, folders=(*found.folders, *others))]


def _in_folder(
    folder: str, listing: Listing, column: str, values: Sequence[str]
) -> Iterator[Whereabouts]:
    with_suffix = all(map(media_kind, values))
    if not with_suffix and _are_paths(values):
        return
    endings = {"": ""} if with_suffix else {suffix(name): name for name in listing.files}
    names = frozenset(listing.files)
    for ending, example in endings.items():
        if ending and not media_kind(example):
            continue
        written = example.rpartition(".")[2]
        paths = {f"{value}.{written}" if ending else value: value for value in values}
        there = names.intersection(paths)
        if not listing.is_whole:
            there |= {path for path in paths if path not in there and is_there(below(folder, path))}
        if there:
            yield Whereabouts(
                column=column,
                folders=(folder,),
                suffix=written if ending else "",
                kind=media_kind(next(iter(there))),
                there=frozenset(paths[path] for path in there),
            )


def _are_paths(values: Sequence[str]) -> bool:
    return any("/" in value for value in values)


def _below_folders(tree: Tree, column: str, values: Sequence[str]) -> Iterator[Whereabouts]:
    """Where paths of a column begin: in a folder of the tree, or with the tree's own name."""
    first = {value.partition("/")[0] for value in values}
    tops = [tree.path(place) for place, each in tree.walked.items() if first & {*each.folders}]
    if first == {name_of(tree.root)}:
        tops.append(parent(tree.root))
    for top in tops:
        if there := frozenset(value for value in values if is_there(below(top, value))):
            kind = media_kind(next(iter(there)))
            yield Whereabouts(column=column, folders=(top,), suffix="", kind=kind, there=there)


def _called_so(tree: Tree, column: str, values: Sequence[str]) -> Iterator[Whereabouts]:
    """Where the values are folders, and the names of files in each: a/images/a.png."""
    for place, listing in tree.walked.items():
        parts = {*place.split("/")}.intersection(values)
        for name in listing.files if parts else ():
            if stem(name) in parts and (kind := media_kind(name)):
                home, _, inner = f"/{place}/".partition(f"/{stem(name)}/")
                top, ending = tree.path(home.strip("/")), name.rpartition(".")[2]
                paths = {each: f"{top}/{each}/{inner}{each}.{ending}" for each in values}
                there = frozenset(each for each, path in paths.items() if is_there(path))
                yield Whereabouts(
                    column=column, folders=(top,), suffix=ending, kind=kind, there=there,
                    between=f"/{inner}",
                )  # fmt: skip
                return


def _together(parts: Iterable[Whereabouts]) -> Iterator[Whereabouts]:
    """The parts of one column and suffix as one, where each value is in one folder alone."""
    groups: dict[tuple[str, str], list[Whereabouts]] = {}
    for part in parts:
        groups.setdefault((part.column, part.suffix), []).append(part)
    for several in groups.values():
        there = frozenset().union(*(part.there for part in several))
        if several[1:] and len(there) == sum(len(part.there) for part in several):
            folders = tuple(part.folders[0] for part in several)
            yield dataclasses.replace(several[0], folders=folders, there=there)


def find_files(seen: Seen, tree: Tree, options: TableOptions) -> list[Whereabouts]:
    """Where the files of each table lie; none if no column of any names files.

    Args:
        seen: Tables of which no value is the path of a file.
        tree: Where the files are looked for.
        options: Columns that a user tells of name none.

    Raises:
        ConfigError: A table names files of several folders; or none, where others name some.
    """
    no_files = {*options.ignore_columns, *options.labels, options.split_column}
    found: list[Whereabouts | None] = []
    several: dict[int, str] = {}  # by the number of rows, of which more tell more
    for table in seen.tables:
        rows = seen.rows_of(table)
        texts = {
            name: values
            for name, values in texts_of(rows).items()
            if name not in no_files and lowered(name) not in LABELS.lists_of_record
        }
        split = table.manifest.split or stem(table.manifest.relative)
        places = whereabouts(tree, texts, split_in_name(split) or "")
        if row := next((each for each in places if _begins_with_row(table, each)), None):
            raise ConfigError(
                f"{table.manifest.path} begins with a row, as {row.column!r} is a file like those "
                "below it: name the columns with --column-names, or pass --no-header"
            )
        if places[1:]:
            several[len(rows)] = _two_places(table.manifest, places, texts, tree)
        found.append(places[0] if places else None)
    if several:
        raise TwoPlacesError(several[max(several)])
    named = [each for each in found if each]
    if not named:
        return []
    for table, place in zip(seen.tables, found, strict=True):
        if place is None:
            raise ConfigError(
                f"{table.manifest.path}: column {named[0].column!r} names no files that are "
                f"there, as it does in another table; leave the table out by --ignore "
                f"{shlex.quote(name_of(table.manifest.relative))}"
            )
    return named


def _begins_with_row(table: Table, found: Whereabouts) -> bool:
    """Whether what stands for the name of the column of files is one of them."""
    name = f"{found.column}.{found.suffix}" if found.suffix else found.column
    paths = [below(folder, name) for folder in found.folders]
    return not table.is_typed and any(map(is_there, paths))


def _two_places(
    table: Manifest, found: Sequence[Whereabouts], texts: Mapping[str, Sequence[str]], tree: Tree
) -> str:
    """That a table names files of several folders, or of two suffixes, and what says which."""
    folders = {each.folders for each in found}
    root = f"{table.root.rstrip('/')}/"
    if template := _template(found, texts, tree):
        of_root = "" if table.folder == tree.root else f"--image-root {shlex.quote(tree.root)} "
        ways = (
            f"give {shlex.quote(table.path)} with {of_root}--image-template {shlex.quote(template)}"
        )
    else:
        patterns = [
            f"*.{each.suffix}" if len(folders) == 1 else each.folders[0].removeprefix(root)
            for each in found[:2]
        ]
        ignoring = " or ".join(f"--ignore {shlex.quote(each)}" for each in patterns)
        ways = f"pass {ignoring} to read the others"
    return (
        f"{table.path}: column {found[0].column!r} names {found[0].pattern} and "
        f"{found[1].pattern}; {ways}, or read the table without them by "
        f"--ignore-columns {shlex.quote(found[0].column)}"
    )


def _template(found: Sequence[Whereabouts], texts: Mapping[str, Sequence[str]], tree: Tree) -> str:
    """The paths, where another column says which of several folders is meant; else ""."""
    home, other = (each.folders[0] for each in found[:2])
    place, name = parent(home), name_of(home)
    if place != parent(other) or name == name_of(other):
        return ""
    inner = below(place, "").removeprefix(below(tree.root, ""))
    there = tree.look(inner.rstrip("/")).folders
    ending = f".{found[0].suffix}" if found[0].suffix else ""
    for column, values in texts.items():
        before = name.removesuffix(next(filter(name.endswith, values), ""))
        if (
            column != found[0].column
            and before != name
            and {before + each for each in values} <= {*there}
        ):
            return f"{inner}{before}{{{column}}}/{{{found[0].column}}}{ending}"
    return ""


def placed(table: Table, found: Whereabouts, names: Collection[str]) -> Table:
    """A table whose rows have the paths of their files, from the folder where these lie.

    Args:
        table: The table.
        found: Where its files lie.
        names: Its columns.
    """
    folder, *others = found.folders
    manifest = dataclasses.replace(table.manifest, folder=folder, folders=tuple(others))
    if not found.suffix:
        return dataclasses.replace(table, manifest=manifest)
    column = found.column if found.kind in names else found.kind
    again = ((found.between, found.column),) if found.between else ()
    template = (("", found.column), *again, (f".{found.suffix}", ""))
    cells = dataclasses.replace(table.cells, column=column, template=template)
    return dataclasses.replace(table, manifest=manifest, cells=cells)
