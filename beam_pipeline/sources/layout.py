"""What a layout is: its name, what tells it, and how it is read.

Each layout has one such object, in its folder's `layout.py`; `registry` lists them. Other packages
add theirs by entry points of the group "beam_tfrecords.layouts" (docs/layouts.md).
"""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, cast

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.tree import Tree, shown
from tfrecord_dataset.split_names import splits_of_files

# What holds for the records of any layout.
_OF_ALL = frozenset({"allow_outside", "classes", "schema"})
# What a layout's files are. Where several layouts lie in a folder, the earlier kind wins.
Kind = Literal["annotations", "manifest", "container", "folders"]


class Place(NamedTuple):
    """Where in a tree a layout lies.

    Attributes:
        path: Relative to the tree: a folder or file; "" is the tree's own folder.
        summary: What lies there, for the user: "3 class folders (…)".
        doubt: Why it cannot be read as it lies, and what helps; "" where it can.
        states_classes: Whether the folders themselves say of what class their files are.
        has_usual_name: Whether a table is called as its convention asks (Hugging Face's
            metadata.csv): the folders beside it then say nothing.
        one_class: The doubt, unless a user says that there is one class; "" if that says nothing.
        files: What is read there, of a layout that reads these and what they name; None if its
            source tells of every file.
        split_lists: Lists of files beside, by their paths below the tree: the split of each.
        tables: Those that are read of the folder, of a layout whose source takes their `names`.
        class_list: A table of the classes of files in no class folder, by its path below the tree.
    """

    path: str
    summary: str
    doubt: str = ""
    states_classes: bool = False
    has_usual_name: bool = False
    one_class: str = ""
    files: tuple[str, ...] | None = None
    split_lists: tuple[tuple[str, str], ...] = ()
    tables: tuple[str, ...] = ()
    class_list: str = ""


NOWHERE = Place("", "")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way in which raw data lies.

    Attributes:
        name: What `--layout` calls it.
        sign: What tells it, as an error says it: ".tar files".
        kind: What its files are: annotations beside images; a manifest; containers, which hold
            many records each and of which a pattern may name several; or folders of single files.
        read: Makes the source, which yields `records.Element`s, of (path, config, scratch): the
            path is an absolute folder, file, or pattern of files; the config holds options such
            as `image_root`; scratch is a folder for what has to be unpacked.
        takes: The options that say how it is read and that not every layout takes, by their names
            in `BuildConfig`: "image_root"; None for all of them. Others are refused with it.
        suffixes: Endings, lower case and without dot, of a file that is given as the input
            itself; none where only a folder can be.
        find: The places where it lies in a tree: several, where it is not clear which is meant.
            Default: the tree's folder, where it holds files of `suffixes`.
        accept: Looks into a folder that a user says is of this layout and where `find` has found
            nothing; returns the relative path of a file that fits, or "". Default: one of
            `suffixes`.
        begins: Whether the file at a path begins as this layout's do; None believes the suffix.
            A layout without suffixes tells its files by this alone.
        refuse: Raises ConfigError where files of these relative paths are meant for this layout
            and cannot be read, such as compressed ones; asked before others may take them.
        complete: (config, path) to `config` with what only a look into the input tells; raises
            ConfigError where it cannot be read as `config` asks.
    """

    name: str
    sign: str
    kind: Kind
    read: Callable[[str, BuildConfig, str], beam.PTransform]
    takes: Collection[str] | None = None
    suffixes: tuple[str, ...] = ()
    find: Callable[[Tree], Sequence[Place]] | None = None
    accept: Callable[[str], str] | None = None
    begins: Callable[[str], bool] | None = None
    refuse: Callable[[Sequence[str]], None] | None = None
    complete: Callable[[BuildConfig, str], BuildConfig] | None = None

    def places(self, tree: Tree) -> Sequence[Place]:
        """The places where it lies in `tree`."""
        if self.find:
            return self.find(tree)
        return container_places([*filter(self.fits, tree.files())])

    def fits(self, name: str) -> bool:
        """Whether a file's name ends as this layout's do."""
        return name.lower().endswith(tuple(f".{each}" for each in self.suffixes))

    def accepted(self, folder: str) -> str:
        """The relative path of a file in `folder` that fits; "" if there is none."""
        if self.accept:
            return self.accept(folder)
        return first_file(folder, self.fits)


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """An input whose layout is known.

    Attributes:
        layout: Its layout.
        path: What `layout.read` takes: an absolute folder, file, or pattern of files.
        summary: What lies there, in one sentence: "voc: 364 XML files in Annotations/, …".
        place: Where it was found in a tree, and what is said of that.
        beside: Files outside of what the layout lists that may hold data, below the input.
        split_lists: As "SPLIT=PATH" what lists of files the layout has found.
        class_list: The path of that of `Place`.
    """

    layout: Layout
    path: str
    summary: str
    place: Place = NOWHERE
    beside: tuple[str, ...] = ()
    split_lists: tuple[str, ...] = ()
    class_list: str = ""


def reading(
    source: Callable[..., beam.PTransform], **derived: Callable[[BuildConfig], Any]
) -> Callable[[str, BuildConfig, str], beam.PTransform]:
    """The `Layout.read` of a source, a dataclass whose first field is the path.

    Fields that `BuildConfig` has, too, `scratch` and `ignored` are handed on, and as `divided`
    whether the build makes several splits; `derived` says what others are.
    """
    names = {field.name for field in dataclasses.fields(cast(type, source))}

    def read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
        options = {name: getattr(config, name) for name in names if hasattr(config, name)}
        options |= {name: of(config) for name, of in derived.items()}
        options |= {"scratch": scratch} if "scratch" in names else {}
        options |= {"divided": len(config.split) > 1} if "divided" in names else {}
        options |= {"ignored": Ignored.of(config, path)} if "ignored" in names else {}
        return source(path, **options)

    return read


class Reads(TypedDict):
    """Of a `Layout`, how it is read and the options that say it."""

    read: Callable[[str, BuildConfig, str], beam.PTransform]
    takes: Collection[str]


def read_by(source: type[beam.PTransform], **derived: Callable[[BuildConfig], Any]) -> Reads:
    """The `Layout.read` of a source with the options that its fields are; as `reading`."""
    names = {field.name for field in dataclasses.fields(cast(type, source))} - _OF_ALL
    # The source gets the number itself.
    names |= {"missing_numbers"} if "missing_number" in names else set()
    takes = names.intersection(field.name for field in dataclasses.fields(BuildConfig))
    return Reads(read=reading(source, **derived), takes=takes)


def container_places(files: Sequence[str]) -> list[Place]:
    """The tree's folder, if there are such files of many records each."""
    if not files:
        return []
    files = sorted(files)
    return [Place("", shown(files, "file") + _splits_shown(files))]


def _splits_shown(files: Sequence[str]) -> str:
    """The splits that the names of all state, or that only some state one."""
    if splits := sorted({split for split in splits_of_files(files) if split}):
        return f" in {', '.join(splits)}"
    one_of = {bool(splits_of_files([file])[0]): file for file in reversed(files)}
    if len(one_of) < 2:
        return ""
    return f"; no splits, since {one_of[True]} states one and {one_of[False]} none"


def first_file(folder: str, fits: Callable[[str], bool]) -> str:
    """The relative path of some file below `folder` that fits; "" if there is none."""
    return next((file.relative for file in storage.list_files(folder) if fits(file.relative)), "")
