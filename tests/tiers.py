"""Selects the cases of a test that the quick tier runs."""

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def first_quick(cases: Sequence[Any], number: int = 1) -> list[Any]:
    """Return values for `parametrize`: the first `number` quick, all others slow."""
    return [*cases[:number], *map(_slow, cases[number:])]


def _slow(case: Any) -> ParameterSet:
    values, name = case, None
    if isinstance(case, ParameterSet):
        values, name = case.values, case.id
    elif not isinstance(case, tuple):
        values = (case,)
    return pytest.param(*values, id=name, marks=pytest.mark.slow)
