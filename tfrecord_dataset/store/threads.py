"""Concurrent calls for I/O."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
_U = TypeVar("_U")


def run_in_threads(call: Callable[[_T], _U], items: Iterable[_T], threads: int) -> list[_U]:
    """Call a function with each item in threads; return results in order.

    Raises:
        Exception: The first failure, after all calls were made.
    """
    with ThreadPoolExecutor(threads) as pool:
        calls = [pool.submit(call, item) for item in items]
    return [each.result() for each in calls]
