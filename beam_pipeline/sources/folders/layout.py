"""The layout `folders`: class folders, perhaps in folders of splits, or one folder of files."""

from collections.abc import Iterator, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.kinds.wording import first_names
from beam_pipeline.sources.folders.npz_record import may_be_records
from beam_pipeline.sources.folders.read_folders import ReadClassFolders
from beam_pipeline.sources.folders.structure import (
    NOUNS,
    Structure,
    is_no_class,
    main_kind,
    structures,
)
from beam_pipeline.sources.layout import Claim, Layout, Rank, read_by
from beam_pipeline.sources.paths import joined, stem, suffix
from beam_pipeline.sources.tables.labels import class_name
from beam_pipeline.sources.tree import Tree, head
from tfrecord_dataset.format.split_names import split_in_name
from tfrecord_dataset.shown_text import counted

_PLACES_OF_LISTS = ("", "meta")
_LINES_LOOKED_AT = 10


def claim_folders(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim images, audio, arrays or texts in class folders, or images and audio in one folder.

    If all of them are in one folder named after their kind, such as images/, claim that folder.
    """
    if not tree.is_folder:
        return None
    if config.path_pattern:
        what = (("files", f"files named {config.path_pattern}"),)
        return Claim(layout="folders", rank=Rank.FOLDERS, path=tree.root, understood=what)
    home = _home(tree)
    inner = Tree(tree.path(home), tree.ignored.inside(home)) if home else tree
    by_kind = structures(inner.names())
    kind = main_kind(by_kind)
    structure = by_kind.get(kind, Structure())
    if not structure.number:
        return None
    if structure.class_depth is None and config.layout != "folders":
        is_class = tree.is_inner and not structure.in_splits  # a class folder, seen from above
        if is_class or _is_of_many(inner, kind):
            return None
    lists = {} if structure.in_splits else split_lists(tree, home)
    problem = structure.problem(inner.root, one_class=config.one_class)
    # Class folders say as much as files of many records; nothing decides between the two.
    is_sure = structure.class_depth is not None and not problem
    return Claim(
        layout="folders",
        rank=Rank.CONTAINER if is_sure else Rank.FOLDERS,
        path=inner.root,
        understood=tuple(_understood(tree, inner, structure, kind, lists)),
        options={"split_list": tuple(_lists(tree, lists))} if lists else {},
        # If not all folders were looked at, the whole listing decides (`read.checked`).
        problem=problem if inner.has_all_folders else None,
    )


def _lists(tree: Tree, lists: dict[str, str]) -> Iterator[str]:
    """Format lists as values of `--split-list`."""
    return (f"{split}={tree.path(path)}" for path, split in lists.items())


def _home(tree: Tree) -> str:
    """The only folder with files of the main kind, if it is named after that; otherwise ""."""
    by_kind = structures(tree.names())
    tops = by_kind.get(main_kind(by_kind), Structure()).folders
    names = {place[0] if place else "" for place in tops}
    name = names.pop() if len(names) == 1 else ""
    return name if name and is_no_class(name) else ""


def _is_of_many(tree: Tree, kind: str) -> bool:
    """Whether files outside class folders have many records each, as arrays and texts do."""
    if kind == "array":
        paths = tree.files_with("npz")
        return not may_be_records([*map(tree.path, paths)])
    return kind == "text"


def _understood(
    tree: Tree, inner: Tree, structure: Structure, kind: str, lists: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """The lines of the summary."""
    number = f"{tree.at_least}{counted(structure.number, NOUNS[kind])}"
    depth = structure.class_depth
    if depth is None:
        yield "files", f"{number} without class folders, so without labels"
    else:
        folders = structure.classes
        if not depth and not inner.has_all_folders:
            folders = frozenset(name for name in inner.look().folders if not is_no_class(name))
        names = {class_name(name) for name in folders}
        folders_shown = counted(len(folders), "class folder")
        yield "classes", f"{folders_shown} ({first_names(sorted(names))})"
        yield "files", number
    if structure.in_splits or lists:
        yield "splits", ", ".join(sorted(lists or structure.tops))


def split_lists(tree: Tree, home: str) -> dict[str, str]:
    """Find lists at the top or in meta/ that name files in class folders; return their splits.

    Args:
        tree: The input.
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
    return bool(folders) and all(not {*classes}.isdisjoint(folder) for folder in folders)


LAYOUT = Layout(
    name="folders",
    sign="images, audio, arrays or texts in one folder per class, or images or audio in one folder",
    **read_by(ReadClassFolders),
    claim=claim_folders,
)
