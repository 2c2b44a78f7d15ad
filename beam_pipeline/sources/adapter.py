"""Claims of layouts that have no `claim` of their own yet, made from what `find` tells."""

import itertools
import posixpath
from collections.abc import Iterable, Iterator

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem
from beam_pipeline.sources.beside import may_hold_data
from beam_pipeline.sources.layout import Claim, Layout, Place, Rank, container_places, first_file
from beam_pipeline.sources.paths import joined, uncompressed
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree, shown
from tfrecord_dataset.store.urls import unsigned

_RANKS = {
    "annotations": Rank.ANNOTATIONS,
    "manifest": Rank.TABLE,
    "container": Rank.CONTAINER,
    "folders": Rank.FOLDERS,
}


def claims_by_places(
    layout: Layout, tree: Tree, config: BuildConfig, own: Iterable[Layout]
) -> list[Claim]:
    """Claims of a layout without `claim`; several where it is not clear which is meant."""
    is_named = config.layout == layout.name
    if not tree.is_folder:
        return _of_files(layout, tree, own, is_named=is_named)
    if layout.find:
        places = layout.find(tree)
    else:
        places = container_places([*filter(layout.fits, tree.files())])
    found = [_at(layout, place, tree, config) for place in places]
    if not found and is_named:
        accept = layout.accept or (lambda folder: first_file(folder, layout.fits))
        if file := accept(tree.root):
            found = [_claim(layout, tree.root, file)]
    return found


def _of_files(layout: Layout, tree: Tree, own: Iterable[Layout], *, is_named: bool) -> list[Claim]:
    if layout.kind != "container" and not tree.is_file:
        return []
    files = [*tree.files()]
    if is_named:
        fits = bool(layout.suffixes or layout.begins)
    else:
        fits = all(_fits(layout, tree.path(file), own) for file in files)
    shown_files = name_of(tree.input) if tree.is_file else shown(files, "file")
    return [_claim(layout, tree.input, shown_files)] if fits and files else []


def _fits(layout: Layout, path: str, own: Iterable[Layout]) -> bool:
    """Whether a file is of a layout by its suffix and how it begins, or by the latter alone."""
    name = uncompressed(unsigned(path))
    if layout.suffixes and not layout.fits(name):
        return False
    if not layout.suffixes and (not layout.begins or any(each.fits(name) for each in own)):
        return False
    return not layout.begins or layout.begins(path)


def _claim(layout: Layout, path: str, what: str) -> Claim:
    return Claim(
        layout=layout.name, rank=_RANKS[layout.kind], path=path, understood=(("files", what),)
    )


def _at(layout: Layout, place: Place, tree: Tree, config: BuildConfig) -> Claim:
    rank = Rank.NAMED_TABLE if place.has_usual_name else _RANKS[layout.kind]
    why = place.one_class if place.one_class and not config.one_class else place.doubt
    lists = tuple(f"{split}={storage.join(tree.root, path)}" for path, split in place.split_lists)
    path = tree.path(place.path)
    return Claim(
        layout=layout.name,
        rank=rank,
        path=path,
        reads=place.tables,
        understood=(("files", place.summary),),
        options={"split_list": lists} if lists else {},
        problem=Problem(code="unclear", facts={"path": path, "why": why}) if why else None,
        beside=tuple(_beside(place, tree)),
    )


def _beside(place: Place, tree: Tree) -> Iterator[str]:
    """The files that may hold data and that the source of what is at `place` does not list."""
    inner: Iterable[str] = ()
    if place.files is not None:
        inner = (each for each in tree.files() if each not in place.files)
    elif place.path:
        inner = (each for each in tree.files() if not each.startswith(f"{place.path}/"))
    found = filter(may_hold_data, itertools.chain(tree.outside, inner))
    lists = {path for path, _ in place.split_lists}
    return (
        posixpath.normpath(joined(tree.ignored.base, each)) for each in found if each not in lists
    )
