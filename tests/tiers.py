"""Selects the cases of a test that CI runs."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def first_in_ci(cases: Iterable[Any], number: int = 1) -> list[Any]:
    """Return values for `parametrize`: the first `number` run in CI, all others nightly."""
    taken = [*cases]
    return [*taken[:number], *map(_nightly, taken[number:])]


def _nightly(case: Any) -> ParameterSet:
    values, name, marks = case, None, ()
    if isinstance(case, ParameterSet):
        values, name, marks = case.values, case.id, case.marks
    elif not isinstance(case, tuple):
        values = (case,)
    return pytest.param(*values, id=name, marks=[*marks, pytest.mark.nightly])
