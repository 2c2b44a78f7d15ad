"""Where side files lie in a tree, and the layout of those that take no options of their own."""

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Place
from beam_pipeline.sources.paths import input_folder
from beam_pipeline.sources.side_files.files import SideFiles
from beam_pipeline.sources.side_files.image_sets import choose_lists
from beam_pipeline.sources.side_files.pairing import look
from beam_pipeline.sources.side_files.read import ReadSideFiles
from beam_pipeline.sources.splits import lists_of_splits
from beam_pipeline.sources.tree import Tree


def places_of(tree: Tree, files: SideFiles, sign: re.Pattern[bytes] | None = None) -> list[Place]:
    """The tree itself, if there are annotations in it.

    Args:
        tree: The top of the input.
        files: What annotations are by their names.
        sign: What the first bytes of one of the first files in a folder must have.
    """
    if not (likely := tree.files_with(files.suffix)):
        return []
    survey = files.at_home(look(tree.names(), files))
    counts = tree.counted((at for at in likely if files.role(at, survey) == "annotation"), sign)
    return [Place("", described(tree, files, counts))] if counts else []


def described(tree: Tree, files: SideFiles, counts: Mapping[str, int]) -> str:
    """What a user reads of so many annotations by folder, and of the lists of splits."""
    lists = look(tree.names(), files).lists
    used, _ = choose_lists(lists, files.tasks)
    sets = lists_of_splits(sorted({split for _, split in used.values()}))
    return tree.told(counts, files.noun) + (f", image sets {', '.join(sets)}" if sets else "")


def side_file_layout(
    name: str,
    sign: str,
    files: SideFiles,
    begins: re.Pattern[bytes] | None = None,
    accept: Callable[[str], str] | None = None,
    takes: Collection[str] = (),
) -> Layout:
    """The layout of annotations beside images.

    Args:
        name: What `--layout` calls it.
        sign: What tells it, as an error says it.
        files: What belongs to an image, and how it is read.
        begins: What the first bytes of an annotation must have, for a tree to be found.
        accept: As in `Layout`.
        takes: As in `Layout`: fields of `files`.
    """

    def read(claim: Claim, config: BuildConfig, scratch: str) -> ReadSideFiles:
        path = claim.path
        told = dataclasses.replace(files, **{each: getattr(config, each) for each in takes})
        return ReadSideFiles(input_folder(path), told, ignored=Ignored.of(config, path))

    return Layout(
        name=name,
        sign=sign,
        kind="annotations",
        read=read,
        takes=takes,
        find=lambda tree: places_of(tree, files, begins),
        accept=accept,
    )
