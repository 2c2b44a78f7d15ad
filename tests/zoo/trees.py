"""The file trees of well-known data sets as people download them, and what must come of each.

Names are real ones, a few of each folder; contents are empty but where a layout is told by them.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping

XML = (
    "<annotation><filename>{name}</filename><object><name>{label}</name><bndbox><xmin>1</xmin>"
    "<ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>"
)
BOX = "{number} 0.5 0.5 0.2 0.4\n"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """One data set.

    Attributes:
        files: Text by path; "{a,b}" in a path stands for each, "{1..3}" for numbers.
        layout: What must be found; "" where the tree must be refused.
        inside: The folder of the input that is read.
        splits: The splits of its records.
        classes: Their classes.
        error: What the refusal says: a regular expression.
    """

    files: Mapping[str, str]
    layout: str = ""
    inside: str = ""
    splits: frozenset[str | None] = frozenset({None})
    classes: frozenset[str] = frozenset()
    error: str = ""

    def texts(self) -> dict[str, str]:
        """Text by path of every file."""
        return {path: text for pattern, text in self.files.items() for path in expanded(pattern)}


def expanded(pattern: str) -> Iterator[str]:
    """The paths that a pattern stands for."""
    parts = re.split(r"\{(.+?)\}", pattern)
    choices = [_choices(part) if at % 2 else [part] for at, part in enumerate(parts)]
    return map("".join, itertools.product(*choices))


def _choices(text: str) -> list[str]:
    first, dots, last = text.partition("..")
    return [str(each) for each in range(int(first), int(last) + 1)] if dots else text.split(",")


def files(*patterns: str) -> dict[str, str]:
    """Empty files."""
    return dict.fromkeys(patterns, "")


def read(
    layout: str, found: Mapping[str, str], splits: str = "", classes: str = "", inside: str = ""
) -> DataSet:
    """A data set that is read, with its splits and classes, which have commas between them."""
    return DataSet(
        files=found,
        layout=layout,
        splits=frozenset(splits.split(",")) if splits else frozenset({None}),
        classes=frozenset(classes.split(",")) if classes else frozenset(),
        inside=inside,
    )


def refused(found: Mapping[str, str], error: str) -> DataSet:
    """A data set that is refused, with this error."""
    return DataSet(files=found, error=error)
