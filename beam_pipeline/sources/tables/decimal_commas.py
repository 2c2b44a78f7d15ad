"""Numbers with decimal commas, such as 1,5 and 1.234,5, recognized for columns as a whole.

In such a column a point separates thousands: 1.234 is 1234. Columns of text stay as they are.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.sources.tables.profiles import Profile, profile_of_texts
from tfrecord_dataset.cells import (
    has_comma,
    has_unclear_point,
    is_with_comma,
    stripped,
    with_point,
)

Choice = bool | tuple[str, ...]
"""Whether all columns may have decimal commas, or the names of those that have."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Commas:
    """Forms of the numbers in a column; mergeable.

    Attributes:
        has_commas: Whether a number has a decimal comma, or several points between thousands.
        has_points: Whether a number has a decimal point.
        unclear: The first number whose point may be either, such as 1.234.
        profile: The profile of the values as `with_point` writes them.
    """

    has_commas: bool = False
    has_points: bool = False
    unclear: str = ""
    profile: Profile = dataclasses.field(default_factory=Profile)

    def merge(self, other: "Commas") -> None:
        """Add other rows."""
        self.has_commas |= other.has_commas
        self.has_points |= other.has_points
        self.unclear = min(filter(None, (self.unclear, other.unclear)), default="")
        self.profile.merge(other.profile)

    @property
    def are_numbers(self) -> bool:
        """Whether the column holds numbers, in whatever form."""
        return self.profile.usual in (int, float)

    @property
    def is_question(self) -> bool:
        """Whether the column's other numbers do not decide what a point means."""
        return self.are_numbers and bool(self.unclear) and self.has_commas == self.has_points


def commas_of(values: Sequence[Any]) -> Commas:
    """Return the forms of a column's values: texts, or values of JSON."""
    texts = {stripped(value) for value in values}
    written = ["" if value is None else str(with_point(value)) for value in values]
    unclear = [*filter(has_unclear_point, texts)]
    points = (text for text in texts if "." in text and not is_with_comma(text))
    return Commas(
        has_commas=any(map(has_comma, texts)),
        has_points=profile_of_texts([*points]).kind is float,
        unclear=min(unclear, default=""),
        profile=profile_of_texts(written),
    )


def columns_with_commas(columns: Mapping[str, Commas], choice: Choice, path: str) -> frozenset[str]:
    """Return the columns of numbers with decimal commas.

    Raises:
        ProblemError: The points in the numbers of a column may separate thousands or fractions.
    """
    if isinstance(choice, tuple):
        return frozenset(name for name in choice if name in columns and columns[name].are_numbers)
    if not choice:
        return frozenset()
    sure = sorted(name for name, each in columns.items() if each.has_commas and each.are_numbers)
    for name, each in sorted(columns.items()):
        if each.is_question:
            others = [other for other in sure if other != name]
            facts = {"path": path, "column": name, "number": each.unclear}
            choices = (_listed([*others, name]), _listed(others))
            raise ProblemError(
                Problem(code="unclear points", facts=facts, option="decimal_comma", choices=choices)
            )
    return frozenset(sure)


def _listed(names: Iterable[str]) -> str:
    """Return names as a list in YAML."""
    quoted = (
        name if name.isidentifier() else json.dumps(name, ensure_ascii=False) for name in names
    )
    return f"[{', '.join(quoted)}]"
