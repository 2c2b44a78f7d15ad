"""Remote files copied to the cache, ahead of their use and in its order.

A copy that lies there already is used once this process has read all of it and found its digest
right, which is work of the same kind as a download: ahead, in the background, some at once.
"""

import collections
import contextlib
import dataclasses
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.store.cache import Cache, Partial
from tfrecord_dataset.store.objects import RemoteFile, read_range

# A request takes some 50 ms, in which 4 MiB would come.
RANGE_BYTES = 8 << 20
_RANGES_AT_ONCE = 16
_FILES_AT_ONCE = 4
# Copies that are kept from being deleted: those used last, and those that are yet to be used.
_USED = 64
_AHEAD = 256
# How often a file is looked for that another process downloads.
_POLL_S = 0.2


@dataclasses.dataclass(slots=True)
class _Download:
    """A copy that is being downloaded, or checked where it is there already.

    Attributes:
        number: Of the file.
        copy: A descriptor of the copy that is checked; None where there was none.
        partial: Where the copy is written; None while one is checked.
        offsets: Of the ranges that are yet to be asked for; of a check one.
        requests: Ranges that are under way.
        error: What one of them failed with.
    """

    number: int
    copy: int | None
    partial: Partial | None
    offsets: collections.deque[int]
    requests: int = 0
    error: Exception | None = None


class Fetcher:
    """Copies files to the cache.

    Args:
        files: Such as the shards of a split.
        cache: Where the copies lie.
    """

    def __init__(self, files: Sequence[RemoteFile], cache: Cache) -> None:
        self.files = tuple(files)
        self._cache = cache
        self._changed = threading.Condition()
        self._expected: collections.deque[int] = collections.deque()
        self._downloads: dict[int, _Download] = {}  # in the order of their need
        self._ahead: dict[int, int] = {}  # the descriptors that hold a copy, by number
        self._used: dict[int, int] = {}  # the same, the last used one at the end
        self._failed: dict[int, Exception] = {}
        self._whole: dict[int, tuple[int, int]] = {}  # device and inode of copies that are
        self._pool = ThreadPoolExecutor(_RANGES_AT_ONCE, "fetch")
        self._is_ending = False
        weakref.finalize(self, _close, self._ahead, self._used)

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
        with self._changed:
            self._failed.pop(number, None)
            while not self._is_held(number):
                if error := self._failed.pop(number, None):
                    raise error
                if self._is_ending:
                    raise BeamTFRecordsError("interrupted")
                if number not in self._downloads:
                    self._start(number, is_urgent=True)
                self._go_on()
                self._changed.wait(_POLL_S)
            self._go_on()

    @contextlib.contextmanager
    def opened(self, number: int) -> Iterator[int | None]:
        """A descriptor of a file's copy, which stays readable; None while there is no copy."""
        with self._changed:
            copy = os.dup(self._used[number]) if self._is_held(number) else None
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
            for held in (self._used, self._ahead):
                if number in held:
                    os.close(held.pop(number))
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
        held = self._used.pop(number, None)
        if held is None:
            held = self._ahead.pop(number, None)
        if held is None:
            held = self._found_again(number)
        if held is None:
            return False
        self._used[number] = held
        while len(self._used) > _USED:
            os.close(self._used.pop(next(iter(self._used))))
        return True

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

    def _start(self, number: int, *, is_urgent: bool) -> bool:
        """Begins a check or a download; False if there is no room, or another process does it."""
        file, num_ranges = self.files[number], 1
        copy, partial = self._cache.find(file), None
        if copy is None:
            partial = self._cache.start(file, is_urgent=is_urgent)
            if partial is None:
                return False
            num_ranges = max(1, -(-file.num_bytes // RANGE_BYTES))
        offsets = collections.deque(range(0, num_ranges * RANGE_BYTES, RANGE_BYTES))
        self._downloads[number] = _Download(number, copy, partial, offsets)
        if is_urgent:
            self._downloads = {number: self._downloads.pop(number), **self._downloads}
        return True

    def _go_on(self) -> None:
        """Keeps requests under way: of files that are begun, then of those that are expected."""
        while sum(each.requests for each in self._downloads.values()) < _RANGES_AT_ONCE:
            download = next((each for each in self._downloads.values() if each.offsets), None)
            if self._is_ending:
                return
            if download is not None:
                self._submit(download)
            elif len(self._downloads) >= _FILES_AT_ONCE or not self._start_expected():
                return

    def _start_expected(self) -> bool:
        """Begins with the next expected file that is not here; False if none may be begun."""
        while self._expected and len(self._ahead) < _AHEAD and self._has_budget():
            number = self._expected[0]
            try:
                is_known = (
                    number in self._downloads or number in self._used or number in self._ahead
                )
                if not is_known and (held := self._found_again(number)) is not None:
                    self._ahead[number] = held
                    is_known = True
                if not is_known and not self._start(number, is_urgent=False):
                    return False
            except BeamTFRecordsError:  # whoever needs the file is told
                return False
            self._expected.popleft()
            if not is_known:
                return True
        return False

    def _has_budget(self) -> bool:
        """Whether what lies ahead of the reader takes less than half of the cache."""
        numbers = {*self._ahead, *self._downloads}
        return 2 * sum(self.files[each].num_bytes for each in numbers) < self._cache.max_bytes

    def _submit(self, download: _Download) -> None:
        try:
            self._pool.submit(self._work, download, download.offsets.popleft())
            download.requests += 1
        except RuntimeError:  # Python is ending
            self._is_ending = True

    def _work(self, download: _Download, offset: int) -> None:
        """Copies a range; the last one to end checks all of the copy, and takes it."""
        error: Exception | None = None
        try:
            if download.partial is not None:
                _copy(download.partial, offset)
        except OSError as fault:
            error = self._cache.explain(fault)
        except Exception as fault:
            error = fault
        with self._changed:
            download.error = download.error or error
            if download.error is not None:
                download.offsets.clear()
            download.requests -= 1
            is_done = not download.requests and not download.offsets
            self._go_on()
        if is_done:
            self._finish(download)

    def _finish(self, download: _Download) -> None:
        held, error = None, download.error
        try:
            held = self._checked(download)
        except Exception as fault:
            error = fault
        number = download.number
        with self._changed:
            del self._downloads[number]
            if held is not None:
                self._whole[number] = _place(held)
            if held is not None and number in self._used:
                os.close(held)  # whoever needed it has found it already
            elif held is not None:
                self._ahead[number] = held
            elif error is not None:
                self._failed[number] = error
            else:  # a copy that was not whole
                self._expected.appendleft(number)
            self._go_on()
            self._changed.notify_all()

    def _checked(self, download: _Download) -> int | None:
        """The whole copy that was made or found, if there is one."""
        file, copy, partial = self.files[download.number], download.copy, download.partial
        if copy is not None:
            if self._cache.is_whole(file, copy):
                return copy
            self._cache.discard(file, copy)
        elif partial is not None and download.error is None:
            return self._cache.finish(partial)
        elif partial is not None:
            self._cache.give_up(partial)
        return None


def _copy(partial: Partial, offset: int) -> None:
    data = memoryview(read_range(partial.file, offset, RANGE_BYTES))
    while data:
        written = os.pwrite(partial.descriptor, data, offset)
        data, offset = data[written:], offset + written


def _place(descriptor: int) -> tuple[int, int]:
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino


def _close(*held: dict[int, int]) -> None:
    for descriptors in held:
        while descriptors:
            os.close(descriptors.popitem()[1])
