"""Files of a store: read where they are until they have been copied to this machine."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfrecord_dataset.errors import BeamTFRecordsError, DatasetChangedError
from tfrecord_dataset.store.cache import Cache
from tfrecord_dataset.store.fetching import Fetcher
from tfrecord_dataset.store.files import ReadRange, changed
from tfrecord_dataset.store.objects import RemoteFile, read_range


class RemoteFiles:
    """Files of a store, as `store.files.Files`.

    Of a file that is not here yet, ranges are read where it is, so that nobody waits for all of
    it; but where most of it is wanted, its copy is waited for.

    Args:
        files: As a listing has them.
        cache: Where copies lie.
        explain: The error for a file that changed.
    """

    is_remote = True

    def __init__(
        self,
        files: Sequence[RemoteFile],
        cache: Cache,
        explain: Callable[[str], DatasetChangedError] = changed,
    ) -> None:
        self.names = tuple(file.url for file in files)
        self._files = files
        self._cache = cache
        self._explain = explain
        self._fetcher = Fetcher(files, cache)
        self._fits_cache = sum(file.num_bytes for file in files) <= cache.max_bytes

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self._files, self._cache, self._explain)

    def num_bytes(self, number: int) -> int:
        return self._files[number].num_bytes

    def identity(self, number: int) -> str:
        return self._files[number].local_name

    def expect(self, numbers: Sequence[int]) -> None:
        if self._fits_cache:
            self._fetcher.expect(numbers)

    @contextlib.contextmanager
    def open(self, number: int, wanted: int | None = None) -> Iterator[ReadRange]:
        file = self._files[number]
        try:
            if wanted is None or 2 * wanted >= file.num_bytes:
                self._fetcher.fetch(number)
            with self._fetcher.opened(number) as copy:
                if copy is None:
                    yield lambda num_bytes, offset: read_range(file, offset, num_bytes)
                else:
                    yield lambda num_bytes, offset: _read_copy(copy, file, num_bytes, offset)
        except DatasetChangedError as error:
            raise self._explain(file.url) from error
        except OSError as error:
            raise BeamTFRecordsError(
                f"the copy of {file.url} cannot be read: {error.strerror}; delete it in the cache "
                "folder (--cache-dir)"
            ) from error

    def renew(self, number: int) -> bool:
        return self._fetcher.renew(number)


def _read_copy(copy: int, file: RemoteFile, num_bytes: int, offset: int) -> bytes:
    return os.pread(copy, max(0, min(num_bytes, file.num_bytes - offset)), offset)
