"""Open questions and refusals of an input as data, and the messages for them."""

import glob
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from tfrecord_dataset.options import all_options

# One sentence for each code; `{name}` is a fact. A sentence without an option ends with its remedy.
SENTENCES: Mapping[str, str] = {
    "ambiguous": "{path} can be read in {number} ways: {ways}",
    "values in folders": "{path}: the folders of {file} state values of columns; write these as "
    "columns",
    "no label files": "{path} has a data.yaml, but no image has a label file; put labels/ next to "
    "images/",
    "unknown layout": "{path} has no known layout: it holds {held}; write it as one of those in "
    "docs/from/index.md",
    "single file": "{path} is a single file, which {reader}; if it belongs to other files, give "
    "the folder that they are in",
    "file of another layout": "{path} is a single file, which {reader}, but {other} does; leave "
    "out layout (--layout)",
    "layout does not fit": "{path} cannot be read as {layout}: it holds {held}; it needs {sign}",
    "another layout": "{path} cannot be read as {layout}: it holds {held}, and no {sign}",
    "no such input": "the input {path!r} does not exist",
    "some folders are splits": "{path} has folders named after splits ({splits}) and others "
    "({others})",
    "levels disagree": "the folders of {path} do not state which of them are classes: {why}",
    "blank class": "{path} has a class folder named with blanks only, {folder!r}; rename it, or "
    "pass --ignore {quoted}",
    "classes differ in blanks": "{path} has class folders whose names differ in outer blanks only, "
    "{one!r} and {folder!r}; rename one, or pass --ignore {quoted}",
    "no class folders": "{path} has no class folders: {names} are named after what they hold",
    "classes in names": "{path} has no class folders, but a part of the files' names may be the "
    "class",
    "one class": "{path} has one class folder, {name}/, so all records would be of one class",
    "format not read": "{path} is {what}, which is not read; {remedy}",
    "several class lists": "the lists of class names {lists} differ",
    "two maps of an image": "{one} and {other} both hold maps of the images",
    "a mask an object": "{folder}/ holds a mask for each object of an image; unite them in one map "
    "per image (docs/from/masks.md)",
    "black and white maps": "{table} names {number} classes for black and white maps; name two",
    "unnamed colours": "the maps have colours such as {colour} that no file gives a class; put a "
    "class_dict.csv with the columns name,r,g,b next to the folders",
    "no file": "{path} has no file; name a folder with data",
    "header is data": "{path}: the first row looks like data ({cell!r}), not names of columns",
    "encoding": "{path} is {encoding}, not UTF-8",
    "header not decoded": "{path}: the names of its columns are not {encoding}",
    "numbered splits": "column {column!r} has numbers, not names of splits: write names there, "
    "leave it out with --ignore-columns {column}, or keep the numbers as names",
    "unclear points": "{path}: column {column!r} has numbers such as {number}, whose point may "
    "separate thousands or a fraction",
    "several labels": "{path}: several columns may be the label",
    "several sheets": "{path} has {number} sheets",
    "several datasets": "{path} holds several datasets ({datasets}); name one of them",
    "rows of text": "{path} has no known layout, but the lines of {first} are rows",
    "tables in folders": "{path} has {tables} in {folders}, whose names would be lost",
    "several tables": "{path} has {tables} that are not parts of one{as_one}",
    "many tables": "{path} has {tables} that are not parts of one{as_one}; give one as the input, "
    "such as {path}/{first}",
    "side files": "{path}: {number} with the names of {media}, such as {first}, would not be read "
    "by the layout {layout}",
    "unread files": "{number} that may hold data, such as {first}, would not be read, more than "
    "the {records} that are",
    "masks of images": "{path}: files such as {first} are named like other images and a mask, so "
    "that {folders} may be no class",
    "twin images": "{path}: {pairs} differ only in their suffix, .{one} and .{other}",
}

# Share of bad records from which the input is more likely misread than damaged.
_MANY_BAD = 0.25


class Reading(NamedTuple):
    """One of the readings that a question has.

    Attributes:
        options: The values that choose it, by `BuildConfig` field; several for an option that may
            be repeated.
        effect: What they do, after "to": "read both as images".
    """

    options: Mapping[str, tuple[str, ...]]
    effect: str

    def __str__(self) -> str:
        return f"{self.typed} to {self.effect}"

    @property
    def typed(self) -> str:
        """The reading as words of a command line."""
        fields = {name: all_options(BuildConfig)[name] for name in self.options}
        return " ".join(
            fields[name].flag + ("" if fields[name].kind is bool else f" {shlex.quote(value)}")
            for name, values in self.options.items()
            for value in values
        )


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An open question or a refusal of an input.

    Attributes:
        code: A key of `SENTENCES`.
        facts: Values for its sentence.
        option: The `BuildConfig` field that decides; "" means the recipe. A layout without
            `choices` is for the user to know, so the sentence has the remedy.
        choices: The values that the option may have.
        readings: Readings of which several options choose one, instead of `option`.
    """

    code: str
    facts: Mapping[str, object] = field(default_factory=dict)
    option: str = ""
    choices: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()

    def __str__(self) -> str:
        is_answered = self.readings or self.choices or self.option not in ("", "layout")
        return f"{self.sentence}; {self._remedy()}" if is_answered else self.sentence

    def lines(self) -> list[str]:
        """Return the message with a line for each of several readings."""
        if not self.readings[1:]:
            return [str(self)]
        return [f"{self.sentence}; pass one of", *(f"  {reading}" for reading in self.readings)]

    @property
    def sentence(self) -> str:
        """The open question or fault, without the remedy."""
        return SENTENCES[self.code].format_map(self.facts)

    def _remedy(self) -> str:
        if self.readings:
            return either(self.readings)
        choices = _listed(self.choices)
        if all_options(BuildConfig)[self.option].option.recipe_only:
            lines = _listed([f"`{self.option}: {choice}`" for choice in self.choices])
            return f"in a recipe: {lines}"
        return f"set {all_options(BuildConfig)[self.option].label}" + (
            f" to {choices}" if choices else ""
        )


def _listed(texts: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def either(readings: Sequence[Reading]) -> str:
    """Return the sentence "pass A to B or C to D"."""
    return f"pass {_listed([*map(str, readings)])}"


class ProblemError(ConfigError):
    """An input has an open question, or cannot be read.

    Attributes:
        problem: The question or refusal.
        decided: Values decided so far, by `BuildConfig` field: the layout and its options.
    """

    def __init__(self, problem: Problem, decided: Mapping[str, Any] | None = None) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.decided = decided or {}


def rename(error: Exception, path: str, shown: str) -> None:
    """Name a path in an error as `shown`."""
    error.args = tuple(str(each).replace(path, shown) for each in error.args)
    if isinstance(error, ProblemError):
        facts = error.problem.facts.items()
        named = {
            name: fact.replace(path, shown) if isinstance(fact, str) else fact
            for name, fact in facts
        }
        error.problem = replace(error.problem, facts=named)


def pattern_of(path: str) -> str:
    """Return the pattern of `--ignore` for files like this one: by suffix, else by name."""
    name = path.rpartition("/")[2]
    start, _, suffix = name.rpartition(".")
    return f"*.{suffix}" if start else glob.escape(name)


def ignoring(path: str) -> str:
    """Return what to type to leave out one file of the input."""
    return files_to_ignore([glob.escape(path)]).typed


def files_to_ignore(patterns: Iterable[str]) -> Reading:
    """Return the reading that leaves out the files of these patterns."""
    return Reading({"ignore": tuple(patterns)}, "leave them out")


def two_maps(one: str, other: str) -> Problem:
    """Return the question that asks for one of two folders, or patterns, of maps."""
    parts = one.split("/"), other.split("/")
    while len(parts[0]) > 1 < len(parts[1]) and parts[0][-1] == parts[1][-1]:
        parts = parts[0][:-1], parts[1][:-1]
    while len(parts[0]) > 1 < len(parts[1]) and parts[0][0] == parts[1][0]:
        parts = parts[0][1:], parts[1][1:]
    names = ["/".join(each) for each in parts]
    return Problem(
        code="two maps of an image",
        facts={"one": one, "other": other},
        readings=tuple(
            Reading({"ignore": (left_out,)}, f"read {kept}")
            for left_out, kept in (names[::-1], names)
        ),
    )


def leaving_out(num_bad: int, number: int) -> str:
    """Return the option that leaves out bad records; "" if they are too many for that."""
    if num_bad >= _MANY_BAD * number:
        return ""
    return f"--max-bad-fraction {math.ceil(1000 * num_bad / number) / 1000:g}"
