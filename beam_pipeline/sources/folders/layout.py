"""The layout `folders`: a class a folder, perhaps in folders of splits; or one folder of files."""

import dataclasses
import re
import shlex
from collections.abc import Container, Mapping, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.media.volumes import refusal
from beam_pipeline.sources.annotation_formats import described
from beam_pipeline.sources.beside import Named, may_hold_data
from beam_pipeline.sources.folders.by_names import by_names
from beam_pipeline.sources.folders.doubt import doubt, is_no_class
from beam_pipeline.sources.folders.imagenet import class_list, refused_numbers
from beam_pipeline.sources.folders.npz_record import may_be_records
from beam_pipeline.sources.folders.profile import (
    NO_CLASSES,
    Profile,
    file_kind,
    main_kind,
    profile_of,
)
from beam_pipeline.sources.folders.read import ReadClassFolders
from beam_pipeline.sources.layout import Layout, Place, first_file, read_by
from beam_pipeline.sources.not_read import known_form
from beam_pipeline.sources.paths import joined, media_kind, stem, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree, counted, head, shown
from tfrecord_dataset.split_names import split_in_name

_PLACES_OF_LISTS = ("", "meta")
_LINES_LOOKED_AT = 10
_TEXTS_LOOKED_INTO = 16
_LINE = """'tr "\\n" " " < "$1"; echo'"""  # a file as a line
_NUMBERS = re.compile(rb"\s*[\d.eE+-]+([\s,;]+[\d.eE+-]+)+\s*")


def find_folders(tree: Tree) -> list[Place]:
    """Images, audio, arrays or texts in class folders, perhaps in folders of splits; or flat.

    Where they all lie in one folder that is called like images, with lists beside it that name what
    lies in there, it is that folder.
    """
    if (home := _home(tree)) and (lists := split_lists(tree, home)):
        inner = Tree(tree.path(home), tree.ignored.inside(home))
        return [
            place._replace(
                path=joined(home, place.path),
                summary=place.summary + _splits_shown(lists),
                split_lists=tuple(lists.items()),
            )
            for place in find_folders(inner)
        ]
    profiles = profile_of(tree.names())
    kind = main_kind(profiles)
    profile = profiles[kind]
    if not profile.number:
        return []
    outside = Named.of(filter(may_hold_data, tree.outside))
    profile = dataclasses.replace(profile, beside=profile.beside.and_of(outside))
    arrays = sorted(path for path in tree.files() if kind == "array" and suffix(path) == "npz")
    each = ", each a record" if may_be_records([*map(tree.path, arrays)]) else ""
    is_many = kind in ("array", "text") and not each
    if (place := _flat(profile, tree)) is not None:
        if tree.is_inner or is_many:  # arrays of many rows, and lists, lie so
            return []
        number = counted(profile.number, "audio file" if kind == "audio" else kind)
        folders = "{_}/" * len(place.split("/")) if place else ""
        what = (
            f"{tree.at_least}{number} without class folders, so without labels{each}"
            f"{by_names(profile, folders)}"
        )
        flat = dataclasses.replace(profile, folders=frozenset({()}))
        return [Place(place, what, doubt(flat, tree.root, kind))]
    if kind in ("array", "text") and profile.only_in_splits and not profile.in_splits:
        what = f"{counted(profile.number, kind)} in {', '.join(sorted(profile.tops))}{each}"
        return [] if is_many else [Place("", what, doubt(profile, tree.root, kind))]  # too
    if kind == "text" and (problem := known_form(tree.root, tree.files())):
        return [Place("", shown(sorted(profile.tops), "folder"), problem)]
    if kind == "text" and (path := _table_of_numbers(tree)):
        problem = (
            f"files such as {path} hold numbers alone, no texts; write their rows as CSV, "
            "or as arrays (docs/manifests.md)"
        )
        return [Place("", shown([path], "file"), problem)]
    if kind == "text" and (path := _of_objects(tree)):
        table = shlex.quote(tree.path("texts.jsonl"))
        command = (
            f"find {shlex.quote(tree.root)} -name '*.txt' -exec sh -c {_LINE} - {{}} ';' > {table}"
        )
        problem = (
            f"files such as {path} hold JSON, no texts: make a table of them by {command}, and "
            "give that"
        )
        return [Place("", shown([path], "file"), problem)]
    # Where not all folders were looked at, the whole listing will tell (folders/read.py).
    problem = one_class = ""
    if tree.has_all_folders:
        problem = doubt(profile, tree.root, kind, one_class=True)
        one_class = doubt(profile, tree.root, kind) if len(profile.classes) == 1 else ""
    lists, table = dict[str, str](), ""
    if profile.in_splits:
        splits = sorted(profile.tops)
        in_splits = {name for split in splits for name in tree.look(split).folders} - {*NO_CLASSES}
        what = f"{shown(sorted(in_splits), 'class folder')} in {', '.join(splits)}"
        if any(file_kind(name) == kind for split in splits for name in tree.look(split).files):
            table = class_list(tree)
            problem = problem or ("" if table else refused_numbers(tree))
            what += f", the others by {name_of(table)}" if table else ""
    else:
        classes: Sequence[str] = tree.look().folders
        if tree.has_all_folders:
            classes = [name for name in classes if name in profile.classes]
        lists = split_lists(tree)
        what = shown(classes, "class folder") + _splits_shown(lists)
    return [
        Place(
            "",
            what + _unread(profile, tree, {table, *lists}),
            problem,
            states_classes=True,
            one_class=one_class,
            split_lists=tuple(lists.items()),
        )
    ]


def _table_of_numbers(tree: Tree) -> str:
    """The first text that holds several numbers alone, as most of some do; "" where few do."""
    texts = [path for path in tree.files() if file_kind(path) == "text"][:_TEXTS_LOOKED_INTO]
    tables = [path for path in texts if _NUMBERS.fullmatch(tree.head(path))]
    return tables[0] if len(tables) * 2 > len(texts) else ""


def _of_objects(tree: Tree) -> str:
    """The first of the texts, if those looked into are objects of JSON; else ""."""
    texts = [path for path in tree.files() if file_kind(path) == "text"][:_TEXTS_LOOKED_INTO]
    return texts[0] if all(tree.head(path).lstrip()[:2] == b'{"' for path in texts) else ""


def _home(tree: Tree) -> str:
    """The folder in which alone media lie, in folders, if it is called like images; else ""."""
    homes = {path.partition("/")[0] for path in tree.files() if media_kind(path) and "/" in path}
    home = homes.pop() if len(homes) == 1 else ""
    return home if home and is_no_class(home) and tree.look(home).folders else ""


def split_lists(tree: Tree, home: str = "") -> dict[str, str]:
    """Splits by the paths of lists at the top or in meta/ that name files in class folders.

    Args:
        tree: Where they are looked for.
        home: The folder of the class folders.
    """
    found = {
        path: split
        for place in _PLACES_OF_LISTS
        for name in tree.look(place).files
        if suffix(name) == "txt" and (split := split_in_name(stem(name)))
        if _names_files(tree.path(path := joined(place, name)), tree.look(home).folders)
    }
    return found if len(set(found.values())) == len(found) else {}


def _names_files(path: str, classes: Sequence[str]) -> bool:
    """Whether a list begins with paths in class folders."""
    lines = head(path).decode(errors="replace").splitlines()[:_LINES_LOOKED_AT]
    folders = [line.strip().removeprefix("./").split("/")[:-1] for line in lines if line.strip()]
    return bool(folders) and all(not {*classes}.isdisjoint(each) for each in folders)


def _splits_shown(lists: Mapping[str, str]) -> str:
    return f", splits in {', '.join(lists)}" if lists else ""


def _unread(profile: Profile, tree: Tree, read: Container[str]) -> str:
    """What is not read, and that lists of other files do not make splits."""
    names = [name for name in tree.look().files if name not in read]
    lists = [name for name in names if suffix(name) == "txt" and split_in_name(stem(name))]
    if lists and not profile.in_splits:
        return f"; lists such as {lists[0]} are not read, so there are no splits"
    beside = profile.beside.but_for(read)
    if not beside.number:
        return ""
    whose = described(tree.root, beside.first)
    return f", without reading {beside}" + (f": {whose}" if whose else "")


def _flat(profile: Profile, tree: Tree) -> str | None:
    """The folder of all files, if that is the top, or its only one and called like images."""
    if len(profile.folders) != 1:
        return None
    [place] = profile.folders
    if not place:
        return ""
    alone = place == tree.look().folders and is_no_class(place[0])
    return place[0] if alone else None


def refuse_volumes(paths: Sequence[str]) -> None:
    """Raises ConfigError for scans in formats that nothing here reads."""
    if problem := refusal(paths):
        raise ConfigError(problem)


LAYOUT = Layout(
    name="folders",
    sign="images, audio, arrays or texts in one folder per class, or images or audio in one folder",
    kind="folders",
    **read_by(ReadClassFolders),
    find=find_folders,
    accept=lambda folder: first_file(folder, lambda file: bool(file_kind(file))),
    refuse=refuse_volumes,
)
