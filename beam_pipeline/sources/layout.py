"""Layouts of raw data: name, claim on a tree, and reader.

Each layout has one `Layout` object; `registry` lists them. Other packages add layouts with entry
points of the group "beam_tfrecords.layouts" (docs/dev/own-source.md).
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any, cast

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.problems import Problem
from beam_pipeline.sources.tree import Ignored, Tree, shown
from tfrecord_dataset.format.split_names import splits_of_files

# Options of all layouts.
_OF_ALL = frozenset({"allow_outside", "classes", "schema"})


class Rank(IntEnum):
    """Specificity of a claim; the most specific claim is read."""

    FOLDERS = 0  # files in folders
    CONTAINER = 1  # files of many records, or class folders
    TABLE = 2  # a table that names files or holds all data
    NAMED_TABLE = 3  # a table with the name of its convention, such as metadata.csv
    ANNOTATIONS = 4  # annotations next to images
    DATASET = 5  # TFRecord files next to their description


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """What a layout would read of a tree.

    Attributes:
        layout: The layout's name.
        rank: Specificity of the claim.
        path: Absolute folder, file or pattern of files for `Layout.read`.
        reads: The annotation files and tables that it reads, below the tree.
        understood: (name, text) lines of the summary: ("classes", "3: cat, dog, owl").
        options: Values found in the data by `BuildConfig` field; options of the user win.
        side_suffixes: Suffixes of the files that it reads by the names of media files.
        problem: Why these options cannot read the claim; None if they can.
        plan: What the layout planned for this claim, so that its reader need not plan again; by
            default its source.
    """

    layout: str
    rank: Rank
    path: str
    reads: tuple[str, ...] = ()
    understood: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    side_suffixes: frozenset[str] = frozenset()
    problem: Problem | ConfigError | None = None
    plan: Any = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def what(self) -> str:
        """The claimed files: "364 XML files in Annotations/"."""
        return self.understood[0][1] if self.understood else self.path

    @property
    def summary(self) -> str:
        """One line: "voc: 364 XML files in Annotations/"."""
        return f"{self.layout}: {self.what}"


def summary_lines(claim: Claim) -> list[str]:
    """Return up to six lines: "layout: folders", "classes: 2: cat, dog"."""
    lines = [("layout", claim.layout), *claim.understood]
    return [f"{what}: {text}" for what, text in lines[:6]]


Read = Callable[[Claim, BuildConfig, str], beam.PTransform]


def planned(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
    """Return the source that a claim planned."""
    return cast(beam.PTransform, claim.plan)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A layout of raw data.

    Attributes:
        name: Value of `--layout`.
        sign: Files that identify the layout, for errors: ".tar files".
        claim: Claims a tree for a build's options, or returns None. If `config.layout` names the
            layout, any file that it can read is enough.
        read: Makes the source of `records.Element`s from a claim, the build's options and a
            scratch folder for unpacked files; by default it is the claim's plan.
        takes: `BuildConfig` fields that it uses and not all layouts do, such as "image_root"; None
            for all. Others are refused.
    """

    name: str
    sign: str
    claim: Callable[[Tree, BuildConfig], Claim | None]
    read: Read = planned
    takes: Collection[str] | None = None


def reading(source: type[beam.PTransform]) -> Read:
    """Make the `Layout.read` of a source, a dataclass whose first field is the claim's path.

    Fields get the values of `BuildConfig` fields with the same name; `scratch`; `ignored`;
    `names`, the files that the claim reads; and `claimed`, the claim's plan.
    """
    names = _fields(source)

    def read(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
        options = {name: getattr(config, name) for name in names if hasattr(config, name)}
        others = {
            "scratch": scratch,
            "ignored": Ignored.of(config, claim.path),
            "names": claim.reads,
            "claimed": claim.plan,
        }
        options |= {name: others[name] for name in names & others.keys()}
        return cast(Any, source)(claim.path, **options)

    return read


def source_layout(
    name: str,
    sign: str,
    source: type[beam.PTransform],
    claim: Callable[[Tree, BuildConfig], Claim | None],
) -> Layout:
    """Make the layout of a source by its fields, as in `reading`."""
    names = _fields(source) - _OF_ALL
    # The source gets the number of the option `missing_numbers`.
    names |= {"missing_numbers"} if "missing_number" in names else set()
    takes = names & _fields(BuildConfig)
    return Layout(name=name, sign=sign, read=reading(source), claim=claim, takes=takes)


def _fields(cls: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


def claim_of_files(layout: str, tree: Tree, files: Sequence[str]) -> Claim | None:
    """Claim files of many records; None if the input's pattern also matches other files.

    `files` are those of the tree that the layout reads, relative to its root.

    >>> from beam_pipeline.sources.tree import Tree
    >>> claim = beam_pipeline.claim_of_files("pgn", Tree.of("cells"), ["train.pgn", "test.pgn"])
    >>> claim.summary
    'pgn: 2 files (test.pgn, train.pgn) in test, train'
    """
    if not files or (not tree.is_folder and len(files) < len(tree.files())):
        return None
    files = sorted(files)
    what = files[0] if tree.is_file else shown(files, "file") + splits_shown(files)
    understood = (("files", what),)
    return Claim(layout=layout, rank=Rank.CONTAINER, path=tree.input, understood=understood)


def splits_shown(files: Sequence[str]) -> str:
    """List the splits in files' names, or note that only some have one."""
    if splits := sorted({split for split in splits_of_files(files) if split}):
        return f" in {', '.join(splits)}"
    one_of = {bool(splits_of_files([file])[0]): file for file in reversed(files)}
    if len(one_of) < 2:
        return ""
    return f"; no splits, since {one_of[True]} states one and {one_of[False]} none"
