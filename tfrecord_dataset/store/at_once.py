"""Calls that wait for an answer, many at once."""

import contextvars
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
_U = TypeVar("_U")


def at_once(call: Callable[[_T], _U], items: Iterable[_T], threads: int) -> list[_U]:
    """The results in the items' order, each called in this thread's context.

    Raises:
        Exception: The first call's that failed; all the others were made, too.
    """
    with ThreadPoolExecutor(threads) as pool:
        calls = [pool.submit(contextvars.copy_context().run, call, item) for item in items]
    return [each.result() for each in calls]
