"""Tells from the top of a tree whether annotations lie in it, and where."""

import re
from collections.abc import Mapping

from beam_pipeline.sources.layout import Place
from beam_pipeline.sources.paths import folder
from beam_pipeline.sources.side_files.files import SideFiles
from beam_pipeline.sources.side_files.image_sets import choose_lists
from beam_pipeline.sources.side_files.pairing import look
from beam_pipeline.sources.splits import lists_of_splits
from beam_pipeline.sources.tree import Tree, counted, places

_FILES_LOOKED_INTO = 5


def annotations_in(tree: Tree, files: SideFiles) -> dict[str, list[str]]:
    """The annotations of a tree by folder, sorted, as far as the tree is looked at."""
    by_folder: dict[str, list[str]] = {}
    if not (likely := tree.files_with(files.suffix)):
        return by_folder
    survey = files.at_home(look(tree.names(), files))
    for path in likely:
        if files.role(path, survey) == "annotation":
            by_folder.setdefault(folder(path), []).append(path)
    return by_folder


def places_of(tree: Tree, files: SideFiles, sign: re.Pattern[bytes] | None = None) -> list[Place]:
    """The tree itself, if there are annotations in it.

    Args:
        tree: The top of the input.
        files: What annotations are by their names.
        sign: What the first bytes of one of the first files in a folder must have.
    """
    counts = {
        home: len(paths)
        for home, paths in annotations_in(tree, files).items()
        if sign is None or any(sign.search(tree.head(path)) for path in paths[:_FILES_LOOKED_INTO])
    }
    return [Place("", described(tree, files, counts))] if counts else []


def described(tree: Tree, files: SideFiles, counts: Mapping[str, int]) -> str:
    """What a user reads of so many annotations by folder, and of the lists of splits."""
    lists = look(tree.names(), files).lists
    used, _ = choose_lists(lists, files.tasks)
    sets = lists_of_splits(sorted({split for _, split in used.values()}))
    what = f"{tree.at_least}{counted(sum(counts.values()), files.noun)} in {places(counts)}"
    return what + (f", image sets {', '.join(sets)}" if sets else "")
