"""Bounded cache folder for complete copies of a store's files, shared by processes.

    <digest>-<name>           a complete copy; its modification time is its last use
    <digest>-<name>.partial   a download
    lock, lock-<number>       held while space is freed, and during a download

A copy has the size of its file, and is checked against the sha256 in metadata.json after the
download. Records have their own checksums; if one is damaged, the copy is checked against that
sha256 again. To free space, the least recently used copies are deleted.
"""

import contextlib
import errno
import fcntl
import functools
import os
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from tfrecord_dataset import durable
from tfrecord_dataset.errors import BeamTFRecordsError, ConfigError, DatasetDamagedError
from tfrecord_dataset.regular_files import sha256_of
from tfrecord_dataset.store.objects import RemoteFile, read_range
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.user_cache import ABANDONED_S, PARTIAL, cache_folder

# A request takes some 50 ms, as long as 4 MiB of transfer.
RANGE_BYTES = 8 << 20
_RANGES_AT_ONCE = 4
_LOCKS = 64
_LOCK = "lock"


class ShardCache:
    """A cache folder.

    Args:
        folder: Path, created if missing. It should be on a local disk. The default is the user's,
            `~/.cache/beam-tfrecords/shards`.
        max_bytes: Maximal size of all files; None for half of the free and their own space.

    Raises:
        ConfigError: The folder cannot be used.
    """

    def __init__(self, folder: str | None = None, max_bytes: int | None = None) -> None:
        folder = folder or str(cache_folder() / "shards")
        self.folder = os.path.abspath(folder)
        try:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            with self._locked(_LOCK):
                free = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise ConfigError(
                f"the cache folder {folder} cannot be used ({error.strerror}); choose another with "
                "cache_dir (--cache-dir)"
            ) from error
        self.max_bytes = (
            (free + sum(self._sizes().values())) // 2 if max_bytes is None else max_bytes
        )

    def path(self, file: RemoteFile) -> str:
        """Return the path of a file's copy, whether it exists or not."""
        return os.path.join(self.folder, file.local_name)

    def find(self, file: RemoteFile) -> str | None:
        """Return the path of a file's copy and mark it as used; None if there is none.

        Deletes anything else at that path, such as a truncated copy.

        Raises:
            BeamTFRecordsError: The file cannot be deleted.
        """
        path = self.path(file)
        try:
            facts = os.lstat(path)
        except FileNotFoundError:
            return None
        is_file = stat.S_ISREG(facts.st_mode) and os.access(path, os.R_OK, effective_ids=True)
        if not is_file or facts.st_size != file.num_bytes:
            self._delete(path)
            return None
        _mark_used(path)
        return path

    def fetch(self, file: RemoteFile) -> str:
        """Return the path of a file's copy, downloading it if necessary.

        Raises:
            BeamTFRecordsError: The file cannot be read, or the cache is not writable.
            DatasetChangedError: The file has changed.
            DatasetDamagedError: The file differs from its sha256 in metadata.json.
        """
        cached = self.find(file)
        if cached is not None:
            return cached
        lock = zlib.crc32(file.local_name.encode()) % _LOCKS
        try:
            with self._locked(f"{_LOCK}-{lock}"):
                return self.find(file) or self._downloaded(file)  # another process may be first
        except OSError as error:
            raise self._explain(error) from error

    def _downloaded(self, file: RemoteFile) -> str:
        path = self.path(file)
        with contextlib.ExitStack() as stack:
            with self._locked(_LOCK):
                self._make_room(file.num_bytes)
                handle = stack.enter_context(durable.replacing(path))
                handle.truncate(file.num_bytes)  # reserves the space
            copy = functools.partial(_copy, handle.fileno(), file)
            run_in_threads(copy, range(0, max(1, file.num_bytes), RANGE_BYTES), _RANGES_AT_ONCE)
            actual = sha256_of(handle.name) if file.sha256 else ""
            if actual != file.sha256:
                raise DatasetDamagedError(
                    f"{file.url} has sha256 {actual}, but metadata.json states {file.sha256}: it "
                    "was changed or damaged; build the dataset again, or restore that file"
                )
        _mark_used(path)
        return path

    def discard_damaged(self, file: RemoteFile) -> bool:
        """Delete a copy unless it matches its sha256; return False only for such an intact copy.

        Also deletes a copy with an unknown sha256.
        """
        path = self.find(file)
        if path is None:
            return True
        with contextlib.suppress(OSError):  # a disk error
            if file.sha256 and sha256_of(path) == file.sha256:
                return False
        self._delete(path)
        return True

    def _make_room(self, num_bytes: int) -> None:
        """Delete the least recently used copies until a file fits."""
        sizes = self._sizes()
        excess = sum(sizes.values()) + num_bytes - self.max_bytes
        for path, size in sizes.items():
            if excess <= 0:
                return
            if path.endswith(PARTIAL) and os.path.getmtime(path) > time.time() - ABANDONED_S:
                continue
            with contextlib.suppress(OSError):  # owned by another user
                os.unlink(path)
                excess -= size

    def _sizes(self) -> dict[str, int]:
        """Return the size of each copy by path, least recently used first."""
        cached = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(facts.st_mode) and not entry.name.startswith(_LOCK):
                        cached.append((facts.st_mtime_ns, entry.path, facts.st_size))
        return {path: size for _, path, size in sorted(cached)}

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        descriptor = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _delete(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._explain(error) from error

    def _explain(self, error: OSError) -> BeamTFRecordsError:
        remedy = "name another folder by cache_dir (--cache-dir)"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = f"lower cache_bytes (--cache-bytes, now {self.max_bytes:,}), or {remedy}"
        return BeamTFRecordsError(
            f"{error.filename or self.folder} in the cache folder cannot be written: "
            f"{error.strerror}; {remedy}"
        )


def _mark_used(path: str) -> None:
    """Set the modification time to now, finer than the system's clock for files of 4 ms."""
    now = time.time_ns()
    with contextlib.suppress(OSError):  # owned by another user, or deleted
        os.utime(path, ns=(now, now))


def _copy(descriptor: int, file: RemoteFile, offset: int) -> None:
    data = memoryview(read_range(file, offset, RANGE_BYTES))
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written
