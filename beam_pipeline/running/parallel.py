"""Work inside a stage: threads where the C code is long, processes where it is short.

Reads, hashes and decodes release the GIL, so threads overlap them; with small files the
Python between them is what costs, and only processes share that out.
"""

import dataclasses
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import loky

from beam_pipeline.files import storage
from beam_pipeline.records import FileRef, Record, file_of

_T = TypeVar("_T")
_R = TypeVar("_R")

# Below this many bytes a file, handing work to threads costs more than they save
# (50,000 JPEGs of 3 KB: 0.6 times the speed; 4,000 photographs: 1.85 times).
_SMALL_FILE_BYTES = 16 << 10
_THREADS_FOR_REMOTE_FILES = 16
_FILES_LOOKED_AT = 32

# Processes that have had nothing to do for so long end.
_IDLE_S = 10
_PARENT_LOOK_S = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Labour:
    """How work is shared out.

    Attributes:
        threads: Records at once in a process.
        processes: Processes beside this one; 0 does all in this one.
    """

    threads: int = 1
    processes: int = 0


def divide_labour(elements: Sequence[object], threads: int, processes: int) -> Labour:
    """What pays for the files of `elements`: `threads` if it is not 0, else by what they are.

    Args:
        elements: Of them, a few records' files are looked at.
        threads: Threads that were asked for, or 0.
        processes: Processes that may be used for small local files, or 0.
    """
    if threads:
        return Labour(threads=threads)
    files = list(itertools.islice(_files(elements), _FILES_LOOKED_AT))
    if any(storage.is_remote(file.path) for file in files):
        return Labour(threads=_THREADS_FOR_REMOTE_FILES)
    if sum(map(_num_bytes, files)) >= _SMALL_FILE_BYTES * max(1, len(files)):
        return Labour(threads=os.cpu_count() or 1)
    return Labour(processes=processes)


def _files(elements: Iterable[object]) -> Iterator[FileRef]:
    for element in elements:
        if isinstance(element, Record):
            if element.example:
                yield element.example.file
            for value in element.features.values():
                if file := file_of(value):
                    yield file


def _num_bytes(file: FileRef) -> int:
    if file.length is not None:  # perhaps of a much larger file
        return file.length
    try:
        return os.path.getsize(file.path)
    except OSError:
        return 0  # the stage that reads it says so


class Ahead(Generic[_R]):
    """Calls under way in an executor: a few ahead of the one awaited, results in order."""

    def __init__(self, executor: Executor, count: int):
        self._executor = executor
        self._count = count
        self._waiting: deque[Future[_R]] = deque()

    def call(self, function: Callable[[_T], _R], item: _T) -> Iterator[_R]:
        """Submits a call; yields the result of an earlier one, where enough are under way."""
        self._waiting.append(self._executor.submit(function, item))
        if len(self._waiting) > self._count:
            yield self._waiting.popleft().result()

    def rest(self) -> Iterator[_R]:
        """Awaits and yields all results that are left."""
        while self._waiting:
            yield self._waiting.popleft().result()

    def map(self, function: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
        """`map(function, items)`."""
        for item in items:
            yield from self.call(function, item)
        yield from self.rest()


def map_threads(function: Callable[[_T], _R], items: Iterable[_T], threads: int) -> Iterator[_R]:
    """`map(function, items)` with at most `threads` calls at once."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from Ahead[_R](pool, 2 * threads).map(function, items)


def ahead_in_processes(processes: int) -> Ahead[Any]:
    """Calls in worker processes, which all stages of this process share.

    loky's processes do not import the program's `__main__`, and inherit nothing that this
    process has opened. They end when they are idle, and soon after this process is gone.
    """
    executor = loky.get_reusable_executor(
        max_workers=processes, timeout=_IDLE_S, initializer=_end_with_parent
    )
    return Ahead(executor, 2 * processes)


def _end_with_parent() -> None:
    """Ends this process when the one that started it is gone, killed for instance.

    loky's own processes stay then, waiting for work.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_processes() -> None:
    """Ends the worker processes of this process, if it has any."""
    loky.get_reusable_executor(reuse=True, timeout=_IDLE_S).shutdown(wait=True, kill_workers=True)
