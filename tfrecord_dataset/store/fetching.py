"""Remote files copied to the cache, ahead of their use and in its order.

A copy that is there already is used once this process has read all of it and found its digest
right, which is work of the same kind as a download: ahead, in the background, some at once.
"""

import collections
import contextlib
import functools
import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.store.at_once import at_once
from tfrecord_dataset.store.cache import Cache, Partial
from tfrecord_dataset.store.objects import RemoteFile, read_range

# A request takes some 50 ms, in which 4 MiB would come.
RANGE_BYTES = 8 << 20
_RANGES_AT_ONCE = 4
_FILES_AT_ONCE = 4
# Copies that are kept from being deleted: those used last, and those that are yet to be used.
_USED = 64
_AHEAD = 256
# How often a file is looked for that another process downloads.
_POLL_S = 0.2


class Fetcher:
    """Copies files to the cache.

    Args:
        files: Such as the shards of a split.
        cache: Where the copies are.
    """

    def __init__(self, files: Sequence[RemoteFile], cache: Cache) -> None:
        self.files = tuple(files)
        self._cache = cache
        self._changed = threading.Condition()
        self._expected: collections.deque[int] = collections.deque()
        self._tasks: dict[int, Future[bool]] = {}  # of files that are downloaded or checked
        self._held: dict[int, int] = {}  # descriptors of copies; the one used last at the end
        self._ahead: set[int] = set()  # those of them that are yet to be used
        self._whole: dict[int, tuple[int, int]] = {}  # device and inode of copies that are
        self._pool = ThreadPoolExecutor(_FILES_AT_ONCE + 1, "fetch")  # one for what is urgent
        weakref.finalize(self, _close, self._held)

    def expect(self, numbers: Sequence[int]) -> None:
        """Says which files are needed from now on, in their order; they are fetched ahead."""
        with self._changed:
            self._expected = collections.deque(dict.fromkeys(map(int, numbers)))
            self._go_on()

    def fetch(self, number: int) -> None:
        """Waits until a file's copy is whole, and was checked.

        It stays there until 64 others have been asked for.

        Raises:
            BeamTFRecordsError: The file cannot be read, or the cache not be written.
            DatasetChangedError: It is another file by now.
            DatasetDamagedError: It is not what metadata.json states.
        """
        while True:
            with self._changed:
                if self._is_held(number):
                    self._go_on()
                    return
                task = self._tasks.get(number) or self._begin(number, is_urgent=True)
            if not task.result():
                time.sleep(_POLL_S)  # another process downloads it

    @contextlib.contextmanager
    def opened(self, number: int) -> Iterator[int | None]:
        """A descriptor of a file's copy, which stays readable; None while there is no copy."""
        with self._changed:
            copy = os.dup(self._held[number]) if self._is_held(number) else None
            self._go_on()
        try:
            yield copy
        finally:
            if copy is not None:
                os.close(copy)

    def renew(self, number: int) -> bool:
        """Whether a file's copy was damaged since it was checked, and is deleted."""
        with self._changed:
            was_whole = self._whole.pop(number, None) is not None
            self._let_go(number)
        file = self.files[number]
        copy = self._cache.find(file)
        if copy is None:
            return was_whole
        if self._cache.is_whole(file, copy):
            os.close(copy)
            return False
        self._cache.discard(file, copy)
        return True

    def _is_held(self, number: int) -> bool:
        """Holds a file's copy, if there is a whole one, as the one used last."""
        copy = self._held.pop(number, None)
        if copy is None:
            copy = self._found_again(number)
        if copy is None:
            return False
        self._held[number] = copy
        self._ahead.discard(number)
        used = [each for each in self._held if each not in self._ahead]
        for each in used[:-_USED]:
            self._let_go(each)
        return True

    def _let_go(self, number: int) -> None:
        self._ahead.discard(number)
        if number in self._held:
            os.close(self._held.pop(number))

    def _found_again(self, number: int) -> int | None:
        """The copy that this process found whole before, if it is still there."""
        if number not in self._whole:
            return None
        copy = self._cache.find(self.files[number])
        if copy is None or _place(copy) == self._whole[number]:
            return copy
        os.close(copy)  # another process made it anew
        del self._whole[number]
        return None

    def _go_on(self) -> None:
        """Begins with the next expected files, as many as may be under way."""
        while self._expected and len(self._tasks) < _FILES_AT_ONCE and self._has_budget():
            number = self._expected.popleft()
            if number not in self._tasks and number not in self._held:
                with contextlib.suppress(BeamTFRecordsError):
                    self._begin(number, is_urgent=False)

    def _has_budget(self) -> bool:
        """Whether what is ahead of the reader takes less than half of the cache."""
        numbers = {*self._ahead, *self._tasks}
        num_bytes = sum(self.files[each].num_bytes for each in numbers)
        return len(self._ahead) < _AHEAD and 2 * num_bytes < self._cache.max_bytes

    def _begin(self, number: int, *, is_urgent: bool) -> Future[bool]:
        try:
            task = self._pool.submit(self._work, number, is_urgent)
        except RuntimeError as error:  # Python is ending
            raise BeamTFRecordsError("interrupted") from error
        self._tasks[number] = task
        return task

    def _work(self, number: int, is_urgent: bool) -> bool:
        """Copies a file, or checks its copy; False if there is no room, or another process does."""
        copy: int | None = None
        try:
            copy = self._copied(number, is_urgent)
        finally:
            with self._changed:
                del self._tasks[number]
                if copy is not None:
                    self._whole[number] = _place(copy)
                    self._held[number] = copy
                    self._ahead.add(number)
                self._go_on()
                self._changed.notify_all()
        return copy is not None

    def _copied(self, number: int, is_urgent: bool) -> int | None:
        file, cache = self.files[number], self._cache
        with self._changed:
            found = self._found_again(number)
        if found is not None:
            return found
        copy = cache.find(file)
        if copy is not None:
            if cache.is_whole(file, copy):
                return copy
            cache.discard(file, copy)
        partial = cache.start(file, is_urgent=is_urgent)
        if partial is None:
            return None
        try:
            offsets = range(0, max(1, file.num_bytes), RANGE_BYTES)
            at_once(functools.partial(_copy, partial), offsets, _RANGES_AT_ONCE)
        except BaseException as error:
            cache.give_up(partial)
            if isinstance(error, OSError):
                raise cache.explain(error) from error
            raise
        return cache.finish(partial)


def _copy(partial: Partial, offset: int) -> None:
    data = memoryview(read_range(partial.file, offset, RANGE_BYTES))
    while data:
        written = os.pwrite(partial.descriptor, data, offset)
        data, offset = data[written:], offset + written


def _place(descriptor: int) -> tuple[int, int]:
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino


def _close(held: dict[int, int]) -> None:
    while held:
        os.close(held.popitem()[1])
