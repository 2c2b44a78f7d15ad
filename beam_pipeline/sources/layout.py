"""What a layout is: its name, what it would read of a tree, and how that is read.

Each layout has one `Layout` object; `registry` lists them. Other packages add theirs by entry
points of the group "beam_tfrecords.layouts" (docs/own-source.md).
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypedDict, cast

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.problems import Problem
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.tree import Tree, shown
from tfrecord_dataset.format.split_names import splits_of_files

# What holds for the records of any layout.
_OF_ALL = frozenset({"allow_outside", "classes", "schema"})


class Rank(IntEnum):
    """How much the files of a claim say: of a tree's claims the highest is read."""

    FOLDERS = 0  # files in folders
    CONTAINER = 1  # files of many records each, or class folders
    TABLE = 2  # a table that names files or holds all data
    NAMED_TABLE = 3  # a table with the name of its convention, such as metadata.csv
    ANNOTATIONS = 4  # annotations beside images


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """What a layout would read of a tree.

    Attributes:
        layout: The layout's name.
        rank: How much its files say.
        path: What `Layout.read` reads: an absolute folder, file or pattern of files.
        reads: The annotation files and tables that it reads, below the tree.
        understood: (what, text) lines of the summary: ("classes", "3: cat, dog, owl").
        options: What was decided by looking, by `BuildConfig` field; options of the user win.
        problem: Why it cannot be read without an option, or as the options ask; None where it can.
    """

    layout: str
    rank: Rank
    path: str
    reads: tuple[str, ...] = ()
    understood: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    problem: Problem | ConfigError | None = None

    @property
    def summary(self) -> str:
        """What is read, in one line: "voc: 364 XML files in Annotations/"."""
        return f"{self.layout}: {self.understood[0][1] if self.understood else self.path}"


def summary_lines(claim: Claim) -> list[str]:
    """What was understood, in at most six lines: "layout: folders", "classes: 2: cat, dog"."""
    lines = [("layout", claim.layout), *claim.understood]
    return [f"{what}: {text}" for what, text in lines[:6]]


Read = Callable[[Claim, BuildConfig, str], beam.PTransform]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way in which raw data is laid out.

    Attributes:
        name: What `--layout` calls it.
        sign: What identifies it, for errors: ".tar files".
        claim: What it would read of a tree, with the options of a build; None where there is
            nothing of it. Where `config.layout` names it, a file that fits at all is enough.
        read: Makes the source, which yields `records.Element`s, of a claim, the build's options
            and a scratch folder for what has to be unpacked.
        takes: The `BuildConfig` fields that say how it is read and that not every layout takes:
            "image_root"; None for all of them. Others are refused with it.
    """

    name: str
    sign: str
    read: Read
    claim: Callable[[Tree, BuildConfig], Claim | None]
    takes: Collection[str] | None = None


def reading(
    source: Callable[..., beam.PTransform], **derived: Callable[[BuildConfig], Any]
) -> Read:
    """The `Layout.read` of a source, a dataclass whose first field is the claim's path.

    Fields that `BuildConfig` has, too, `scratch`, `ignored` and as `names` the files that the claim
    reads are passed, and as `divided` whether the build makes several splits; `derived` says what
    others are.
    """
    names = {field.name for field in dataclasses.fields(cast(type, source))}

    def read(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
        options = {name: getattr(config, name) for name in names if hasattr(config, name)}
        options |= {name: of(config) for name, of in derived.items()}
        options |= {"scratch": scratch} if "scratch" in names else {}
        options |= {"divided": len(config.fractions) > 1} if "divided" in names else {}
        options |= {"ignored": Ignored.of(config, claim.path)} if "ignored" in names else {}
        options |= {"names": claim.reads} if "names" in names else {}
        return source(claim.path, **options)

    return read


class Reads(TypedDict):
    """Of a `Layout`, how it is read and the options that say it."""

    read: Read
    takes: Collection[str]


def read_by(source: type[beam.PTransform], **derived: Callable[[BuildConfig], Any]) -> Reads:
    """The `Layout.read` of a source with the options that its fields are; as `reading`."""
    names = {field.name for field in dataclasses.fields(cast(type, source))} - _OF_ALL
    # The source gets the number itself.
    names |= {"missing_numbers"} if "missing_number" in names else set()
    takes = names.intersection(field.name for field in dataclasses.fields(BuildConfig))
    return Reads(read=reading(source, **derived), takes=takes)


def claim_of_files(
    layout: str, tree: Tree, files: Sequence[str], options: Mapping[str, Any] | None = None
) -> Claim | None:
    """The claim of files of many records each; None where other files fit a pattern, too.

    Args:
        layout: The layout's name.
        tree: What is looked at.
        files: Those of the tree that the layout reads, relative to its root.
        options: What was decided by looking, by `BuildConfig` field.

    >>> from beam_pipeline.sources.tree import Tree
    >>> claim = beam_pipeline.claim_of_files("pgn", Tree.of("cells"), ["train.pgn", "test.pgn"])
    >>> claim.summary
    'pgn: 2 files (test.pgn, train.pgn) in test, train'
    """
    if not files or (not tree.is_folder and len(files) < len(tree.files())):
        return None
    files = sorted(files)
    what = files[0] if tree.is_file else shown(files, "file") + splits_shown(files)
    return Claim(
        layout=layout,
        rank=Rank.CONTAINER,
        path=tree.input,
        understood=(("files", what),),
        options=options or {},
    )


def splits_shown(files: Sequence[str]) -> str:
    """The splits that the names of all state, or that only some state one."""
    if splits := sorted({split for split in splits_of_files(files) if split}):
        return f" in {', '.join(splits)}"
    one_of = {bool(splits_of_files([file])[0]): file for file in reversed(files)}
    if len(one_of) < 2:
        return ""
    return f"; no splits, since {one_of[True]} states one and {one_of[False]} none"
