"""Which layout lies at a path: found by looking at the top of its tree, or as a user says."""

import dataclasses
import itertools
import posixpath
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.archives import refuse_archives
from beam_pipeline.sources.beside import may_hold_data
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.layout import Input, Layout, Place
from beam_pipeline.sources.manifest.csv_dialect import is_like_table, read_as_table
from beam_pipeline.sources.not_read import refuse_not_read
from beam_pipeline.sources.paths import joined, stem, uncompressed
from beam_pipeline.sources.proposing import (
    Reading,
    leaves_out_train,
    others_as_good,
    own_list,
    readings,
    refuse_other_classes,
    with_tables,
)
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.registry import layout_named, layouts, own_layouts
from beam_pipeline.sources.splits import PARTITION, is_partition
from beam_pipeline.sources.tree import Tree, counted, head, shown
from tfrecord_dataset.split_names import is_split
from tfrecord_dataset.store.urls import unsigned

_SIGNS = "docs/layouts.md says what each layout looks like"


def detect(path: str, ignored: Ignored = NOTHING) -> Input:
    """The input at `path`, its layout told by names in the top folders and the start of files.

    Annotations beside images (voc, yolo, coco) win over a manifest, and a manifest over a folder
    of images and over files of many records each, which a pattern may name. In a folder that holds
    but one other, as a zip's contents often do, the layout may lie one level deeper.

    Args:
        path: A folder, file, or pattern of files.
        ignored: What of a folder is left out.

    Raises:
        ConfigError: There is no such path, nothing known in it, more than one layout, or folders
            that may be splits or classes.
    """
    absolute = _existing(path)
    if not storage.is_directory(absolute):
        return _of_file(absolute) if storage.exists(absolute) else _of_pattern(absolute, ignored)
    tree = Tree(absolute, ignored)
    found = _chosen(_inputs(tree), path, tree)
    return found or _give_up(f"cannot tell the layout of {path}", tree, [*layouts().values()])


def resolve(path: str, name: str, ignored: Ignored = NOTHING) -> Input:
    """The input at `path`, whose layout is known to be `name`: it need not look typical.

    Raises:
        ConfigError: There is no such path, no such layout, or nothing of it at the path.
    """
    layout = layout_named(name)
    absolute = _existing(path)
    if not storage.is_directory(absolute):
        if not layout.suffixes and not layout.begins:
            raise ConfigError(f"--layout {name} needs a folder, but {path} is a file")
        if layout.kind != "container" and not storage.exists(absolute):
            raise ConfigError(f"--layout {name} takes no pattern of files, such as {path}")
        return _input(layout, absolute, name_of(absolute))
    tree = Tree(absolute, ignored)
    if found := _chosen(_as_they_lie(layout, tree), path, tree, layout):
        return found
    if file := layout.accepted(absolute):
        return _input(layout, absolute, file)
    return _give_up(f"--layout {name} does not fit {path}", tree, [layout])


def _existing(path: str) -> str:
    absolute = storage.absolute(path).rstrip("/") or "/"
    is_there = storage.exists(absolute) or storage.is_directory(absolute)
    if not is_there and not (set("*?[") & set(absolute) and storage.match_files(absolute)):
        raise ConfigError(f"the input {absolute!r} does not exist")
    return absolute


def _input(layout: Layout, path: str, what: str) -> Input:
    return Input(layout, path, f"{layout.name}: {what}")


def _chosen(
    inputs: list[Input], path: str, tree: Tree, layout: Layout | None = None
) -> Input | None:
    """The only one of the inputs; or tables that tell of the files, where these are in doubt.

    Args:
        inputs: The ways to read a tree.
        path: Of the tree, as a user gave it.
        tree: The tree.
        layout: What a user says that it is.
    """
    kinds = {each.layout.kind for each in inputs}
    in_doubt = kinds == {"folders"} and any((inputs[0].place.doubt, inputs[0].place.one_class))
    first = inputs[0].place if len(inputs) == 1 else None
    alone = first.tables if first and not first.has_usual_name else ()
    if alone and (several := others_as_good(alone, tree)):
        ways = "; or ".join(map(str, several))
        raise ConfigError(f"{path} has {len(several)} tables that name its files: {ways}")
    of_masks = any(each.place.doubt and each.layout.name == "masks" for each in inputs)
    if in_doubt or of_masks or (len(inputs) > 1 and kinds == {"manifest"}):
        # CelebA's list of persons says less than its attributes.
        found = [each for each in readings(tree) if not (each.is_list and own_list(tree))]
        found = [each for each in found if each.has_run_lengths or not of_masks]
        sure = found[0] if len(found) == 1 and found[0].is_sure else None
        if sure and sure.problem:
            raise ConfigError(sure.problem)
        if sure and (layout is None or sure.layout == layout.name):
            return _of_tables(sure, tree)
        if in_doubt and len(inputs) == 1:
            return _only([with_tables(inputs[0], tree, found)], path)
    elif kinds == {"folders"} and layout is None:
        refuse_other_classes(inputs[0], tree)
    return _only(inputs, path, tree)


def _of_tables(reading: Reading, tree: Tree) -> Input:
    """The tables of a tree that tell of its files."""
    tables = reading.tables
    summary = shown(tables, "table") if tables[4:] else ", ".join(tables)
    return _at(layout_named(reading.layout), Place("", summary, files=tables, tables=tables), tree)


def _as_they_lie(layout: Layout, tree: Tree) -> list[Input]:
    return [_at(layout, place, tree) for place in layout.places(tree)]


def _at(layout: Layout, place: Place, tree: Tree) -> Input:
    if layout.kind == "manifest" and (partition := _partition(place, tree)):
        place = place._replace(
            summary=f"{place.summary}, splits in {partition}",
            split_lists=tuple((partition, split) for split in PARTITION),
        )
    return dataclasses.replace(
        _input(layout, tree.path(place.path), place.summary),
        place=place,
        beside=tuple(_beside(place, tree)),
        split_lists=tuple(
            f"{split}={storage.join(tree.root, path)}" for path, split in place.split_lists
        ),
        class_list=storage.join(tree.root, place.class_list) if place.class_list else "",
    )


def _partition(place: Place, tree: Tree) -> str:
    """The list beside tables of images that has the split of each image; "" without one."""
    lists = [
        name for name in tree.files() if is_partition(name) and name not in (place.files or ())
    ]
    return lists[0] if len(lists) == 1 else ""


def _beside(place: Place, tree: Tree) -> Iterator[str]:
    """The files that may hold data and that the source of what lies at `place` does not list."""
    inner: Iterable[str] = ()
    if place.files is not None:
        inner = (each for each in tree.files() if each not in place.files)
    elif place.path:
        inner = (each for each in tree.files() if not each.startswith(f"{place.path}/"))
    found = filter(may_hold_data, itertools.chain(tree.outside, inner))
    lists = {place.class_list, *(path for path, _ in place.split_lists)}
    return (
        posixpath.normpath(joined(tree.ignored.base, each)) for each in found if each not in lists
    )


def _inputs(tree: Tree) -> list[Input]:
    by_kind = {
        kind: [layout for layout in layouts().values() if layout.kind == kind]
        for kind in ("annotations", "manifest", "container", "folders")
    }

    def of_kind(kind: str) -> list[Input]:
        return [found for layout in by_kind[kind] for found in _as_they_lie(layout, tree)]

    if found := of_kind("annotations"):
        return found
    found = of_kind("manifest")
    tables = [table for each in found for table in each.place.tables]
    if found and not leaves_out_train(tables, tree):
        if any(each.place.has_usual_name for each in found):
            return found
        return found + [
            dataclasses.replace(each, path=tree.root)
            for each in of_kind("folders")
            if each.place.states_classes and not each.place.doubt
        ]
    if found := of_kind("container"):
        return found if found[0].place.has_usual_name else found + of_kind("folders")
    folders = of_kind("folders")
    if not tree.only_folder or any(each.split_lists for each in folders):
        return folders
    return _inputs(tree.inside(tree.only_folder)) or folders


def _only(inputs: list[Input], path: str, tree: Tree | None = None) -> Input | None:
    if len(inputs) > 1:
        raise ConfigError(
            f"{path} can be read in {len(inputs)} ways: "
            + "; ".join(each.summary for each in inputs)
            + f"; {_choice(inputs, tree)}"
        )
    if not inputs:
        return None
    [found] = inputs
    doubt = found.place.doubt
    if found.path != storage.absolute(path).rstrip("/"):  # patterns are of paths below it
        given = f"give {shlex.quote(found.path)} with --path-pattern"
        doubt = doubt.replace("pass --path-pattern", given)
        found = dataclasses.replace(found, place=found.place._replace(doubt=doubt))
    if doubt and not found.place.one_class:
        raise ConfigError(f"{found.path} cannot be read as it lies: {doubt}")
    return found


def _choice(inputs: Sequence[Input], tree: Tree | None) -> str:
    """How a user says which of several inputs is meant."""
    of_tables = all(each.layout.kind == "manifest" for each in inputs)
    if tree and of_tables and (found := [each for each in readings(tree) if each.ways]):
        return "; or ".join(map(str, found))
    if len({each.layout.name for each in inputs}) > 1:
        inner = next((each.path for each in inputs if storage.is_directory(each.path)), "")
        given = f", giving {shlex.quote(inner)}," if tree and inner not in ("", tree.root) else ","
        return f"choose with --layout{given} or give one file or folder"
    paths = [each.path for each in inputs]
    splits = [path for path in paths if is_split(stem(uncompressed(path)))]
    one = f"give one of them, such as {(splits or paths)[-1]}"
    if len(splits) < 2 or len(splits) == len(paths) or len(set(map(_first_line, splits))) > 1:
        return one
    others = " ".join(
        f"--ignore {shlex.quote(name_of(path))}" for path in paths if path not in splits
    )
    return f"{one}, or pass {others} to read {' and '.join(map(name_of, splits))}"


def _first_line(path: str) -> bytes:
    return next(iter(head(path).splitlines()), b"")


def _of_file(path: str) -> Input:
    found = [_input(layout, path, name_of(path)) for layout in _layouts_of_file(path)]
    if one := _only(found, path):
        return one
    refuse_not_read("", [path])
    raise ConfigError(
        f"cannot tell the layout of {path}: no layout reads such a file by its suffix and its "
        f"first bytes; give the folder of the dataset, or name its layout with --layout ({_SIGNS})"
    )


def _layouts_of_file(path: str) -> list[Layout]:
    for layout in layouts().values():
        if layout.refuse:
            layout.refuse([path])
    name = uncompressed(unsigned(path))
    likely = [layout for layout in layouts().values() if layout.fits(name)] or [
        layout for layout in layouts().values() if layout.begins and not layout.suffixes
    ]
    fits = [layout for layout in likely if not layout.begins or layout.begins(path)]
    # What marks images, by how it begins, may begin like a table, too.
    marking = [layout for layout in fits if layout.begins and layout.kind == "annotations"]
    return marking or fits


def _of_pattern(pattern: str, ignored: Ignored) -> Input:
    files = [file for file in storage.match_files(pattern) if not ignored(name_of(file))]
    found = {layout.name: layout for file in files for layout in _layouts_of_file(file)}
    [layout, *others] = found.values() or [None]
    if layout is None or others or layout.kind != "container":
        containers = [each.name for each in layouts().values() if each.kind == "container"]
        raise ConfigError(
            f"cannot tell the layout of {pattern}: it fits {shown(files, 'file')}, which are not "
            f"all of one of the layouts {', '.join(containers)}; choose with --layout"
        )
    return _input(layout, pattern, shown(files, "file"))


def _give_up(problem: str, tree: Tree, looked_for: Sequence[Layout]) -> NoReturn:
    files = tree.files()
    if not files:
        raise ConfigError(f"{problem}: it has no file; name a folder with data")
    refuse_archives(tree.root, files)
    refuse_not_read(tree.root, files)
    for layout in looked_for:
        if layout.refuse:
            layout.refuse(files)
    own = own_layouts()
    told = [each for each in looked_for if each.name not in own or len(looked_for) == 1]
    signs = "".join(f"; looked for {each.sign} ({each.name})" for each in told)
    signs += "" if len(looked_for) == 1 else f"; {_SIGNS}"
    other = "another" if len(looked_for) == 1 else "its"
    if table := next((name for name in files if is_like_table(tree.head(name))), ""):
        signs += f"; {read_as_table(table, tree.path(table))}"
    raise ConfigError(
        f"{problem}: it holds {_held(tree, files)}{signs}; fix the input, name {other} "
        "layout with --layout, or write a source of your own (docs/layouts.md)"
    )


def _held(tree: Tree, files: Sequence[str]) -> str:
    """What a tree holds at its top; of folders alone, what lies in them."""
    top = tree.look()
    if top.files:
        return str(top)
    number = f"{tree.at_least}{counted(len(files), 'file')}"
    return f"{shown(top.folders, 'folder')} with {number} such as {files[0]}"
