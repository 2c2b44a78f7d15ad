"""Counts that merge in any order: each field of a class of counts states how it merges."""

import dataclasses
import functools
import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar, get_type_hints

from beam_pipeline.kinds.numbers import Number

Range = tuple[Number, Number]
"""The smallest and the largest of some numbers."""
_N = TypeVar("_N", bound=float)
_K = TypeVar("_K")
_V = TypeVar("_V")


class Counts:
    """A dataclass without `__init__`, each of whose fields is `Annotated` with its merge.

    A merge gets the field's value and that of other counts, which is None or not empty; it may
    change and return the first, and never changes or keeps the second. A field is made when it is
    first used, as most are of no use for most features.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init__(self, **counted: Any) -> None:
        vars(self).update(counted)

    def __getattr__(self, name: str) -> Any:
        field = type(self).__dataclass_fields__.get(name)
        if field is None or field.default_factory is dataclasses.MISSING:
            raise AttributeError(name)
        vars(self)[name] = value = field.default_factory()
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Return what was counted."""
        return {name: value for name, value in vars(self).items() if value or value is None}

    def __setstate__(self, counted: dict[str, Any]) -> None:
        vars(self).update(counted)

    def merge(self, other: Self) -> None:
        """Add all of `other`."""
        kind: Any = type(self)
        merges = _merges(kind)
        for name, more in other.__getstate__().items():
            setattr(self, name, merges[name](getattr(self, name), more))


@functools.cache
def _merges(counts: Any) -> Mapping[str, Callable[[Any, Any], Any]]:
    hints = get_type_hints(counts, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in counts.__annotations__}


def added(one: Any, other: Any) -> Any:
    """Add occurrences to a Counter, or members to a set."""
    one.update(other)
    return one


def spanned(one: tuple[_N, _N] | None, other: tuple[_N, _N] | None) -> tuple[_N, _N] | None:
    """Return the union of two ranges; None without numbers."""
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def parts(one: Any, other: Any) -> Any:
    """Merge counts that may be None."""
    if other is not None:
        one = one or type(other)()
        one.merge(other)
    return one


def by_key(merge: Callable[[_V | None, _V], _V]) -> Callable[[dict[_K, _V], Any], dict[_K, _V]]:
    """Return the merge of values under the same key; `merge` gets None for a new key."""

    def merged(one: dict[_K, _V], other: Mapping[_K, _V]) -> dict[_K, _V]:
        for key, value in other.items():
            one[key] = merge(one.get(key), value)
        return one

    return merged


def taken_over(one: dict[_K, Any] | None, other: Mapping[_K, Any]) -> dict[_K, Any]:
    """Merge counts by key; those of `other` under a new key are not copied."""
    together = {} if one is None else one
    for key, counts in other.items():
        if key in together:
            together[key].merge(counts)
        else:
            together[key] = counts
    return together


def fewest(most: int) -> Callable[[set[Any] | None, set[Any]], set[Any]]:
    """Return the merge of sets that keeps the smallest members."""
    return lambda one, other: set(sorted((one or set()) | other)[:most])


def lowest(most: int) -> Callable[[Counter[int], Counter[int]], Counter[int]]:
    """Return the merge of occurrences that keeps the lowest numbers."""

    def merged(one: Counter[int], other: Counter[int]) -> Counter[int]:
        for number in sorted(added(one, other))[most:]:
            del one[number]
        return one

    return merged


def smallest(most: int, key: Callable[[Any], Any] | None = None) -> Callable[[Any, Any], list[Any]]:
    """Return the merge of lists that keeps the smallest values, in order."""
    return lambda one, other: heapq.nsmallest(most, (*(one or ()), *other), key=key)


def united(one: set[Any] | None, other: set[Any]) -> set[Any]:
    """Return the members of both sets."""
    return (one or set()) | other


def first(one: str | None, other: str) -> str:
    """Return the first of two texts."""
    return other if one is None else min(one, other)


def least(one: Any, other: Any) -> Any:
    """Return the lower of two values, or the one that is not empty."""
    return min(filter(None, (one, other)), default=one)
