"""A folder with whole copies of remote files, shared by the processes of one machine.

    <hash>-<name>           a whole copy; its time of change is its last use. Where nobody states
                            its sha256, it ends with a seal (`user_cache.seal`)
    <hash>-<name>.partial   one that is being downloaded
    lock                    held while room is made

The copies that a process uses are locked (flock), and so are the partial ones that it writes. What
nobody has locked may be deleted. Locks go with their process, however it ends.
"""

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from tfrecord_dataset import durable
from tfrecord_dataset.errors import BeamTFRecordsError, ConfigError, DatasetDamagedError
from tfrecord_dataset.store.objects import RemoteFile
from tfrecord_dataset.store.user_cache import SEAL_BYTES, blocks, cache_folder, seal, sealed_bytes

_LOCK = "lock"
_PARTIAL = ".partial"


@dataclasses.dataclass(frozen=True, slots=True)
class Partial:
    """A copy that this process downloads.

    Attributes:
        file: What is downloaded.
        path: Where the copy lies.
        descriptor: Of the open, locked file; whoever has the partial closes it.
    """

    file: RemoteFile
    path: str
    descriptor: int


class Cache:
    """The folder.

    Args:
        folder: Made, if it is missing. It should be on a disk of this machine. By default that of
            the user, `~/.cache/beam-tfrecords/shards`.
        max_bytes: Of all files in it; None for half of the space that is free or the folder's.
    """

    def __init__(self, folder: str | None = None, max_bytes: int | None = None) -> None:
        folder = folder or str(cache_folder() / "shards")
        self.folder = os.path.abspath(folder)
        try:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path(_LOCK), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigError(
                f"the cache folder {folder} cannot be used ({error.strerror}); name another by "
                "--cache-dir"
            ) from error
        os.close(descriptor)
        self.max_bytes = max_bytes if max_bytes is not None else self._half_of_the_disk()

    def _half_of_the_disk(self) -> int:
        return (shutil.disk_usage(self.folder).free + sum(self._sizes().values())) // 2

    def _sizes(self) -> dict[str, int]:
        """Bytes of each file by name, the one used longest ago first."""
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    facts = entry.stat()
                    found.append((facts.st_mtime_ns, entry.name, facts.st_size))
        return {name: size for _, name, size in sorted(found)}

    def path(self, file: RemoteFile) -> str:
        """Where the copy of a file lies, or will lie."""
        return self._path(file.local_name)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def find(self, file: RemoteFile) -> int | None:
        """Opens the copy of a file, and keeps it from being deleted.

        Whether it is what it should be, `is_whole` tells.

        Returns:
            A descriptor, until whose closing the copy is kept; None if there is no copy.

        Raises:
            BeamTFRecordsError: Something lies in its place that cannot be removed.
        """
        path = self.path(file)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError:  # a link, or another user's
            self._remove(path)
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if not _is_at(descriptor, path):
            os.close(descriptor)
            return None
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != _stored_bytes(file):
            self.discard(file, descriptor)
            return None
        with contextlib.suppress(OSError):  # another user's
            os.utime(path)
        return descriptor

    def is_whole(self, file: RemoteFile, descriptor: int) -> bool:
        """Whether a copy has the content that it should have; all of it is read."""
        try:
            if file.sha256:
                return _sha256(descriptor, file.num_bytes) == file.sha256
            return sealed_bytes(descriptor, file.local_name) == file.num_bytes
        except OSError:  # of the disk
            return False

    def discard(self, file: RemoteFile, descriptor: int) -> None:
        """Deletes a copy that is not what it should be.

        Raises:
            BeamTFRecordsError: It cannot be removed.
        """
        try:
            if _is_at(descriptor, self.path(file)):
                self._remove(self.path(file))
        finally:
            os.close(descriptor)

    def _remove(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise BeamTFRecordsError(
                f"{path} in the cache folder is no copy of a file, and cannot be removed "
                f"({error.strerror}); delete it, or name another folder by --cache-dir"
            ) from error

    def start(self, file: RemoteFile, *, is_urgent: bool) -> Partial | None:
        """Begins the copy of a file, for which room is made.

        Args:
            file: What is to be downloaded.
            is_urgent: Begin even if what is in use leaves too little room.

        Returns:
            None if another process downloads the file, or has done so, or if there is no room.

        Raises:
            BeamTFRecordsError: The disk is full.
        """
        try:
            return self._start(file, is_urgent=is_urgent)
        except OSError as error:
            raise self.explain(error) from error

    def _start(self, file: RemoteFile, *, is_urgent: bool) -> Partial | None:
        path = self.path(file) + _PARTIAL
        with self._locked():
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            partial = Partial(file, path, descriptor)
            if not _try_lock(descriptor) or not _is_at(descriptor, path):
                os.close(descriptor)  # another process downloads it, or just did
                return None
            try:
                os.ftruncate(descriptor, 0)
                is_there = os.path.exists(self.path(file))
                if is_there or not (self._make_room(file.num_bytes) or is_urgent):
                    self.give_up(partial)
                    return None
                os.ftruncate(descriptor, _stored_bytes(file))  # which counts from now on
            except OSError:
                self.give_up(partial)
                raise
        return partial

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self._path(_LOCK), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _make_room(self, num_bytes: int) -> bool:
        """Deletes the files that were used longest ago; whether that makes room."""
        sizes = self._sizes()
        excess = sum(sizes.values()) + num_bytes - self.max_bytes
        for name, size in sizes.items():
            if excess <= 0:
                break
            if size and name != _LOCK and self._delete_unused(self._path(name)):
                excess -= size
        return excess <= 0

    def _delete_unused(self, path: str) -> bool:
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:  # it is gone, or another user's
            return False
        try:
            if not _try_lock(descriptor):
                return False
            os.unlink(path)
            return True
        finally:
            os.close(descriptor)

    def finish(self, partial: Partial) -> int:
        """Checks a copy that has been downloaded, and gives it its name once it is on the disk.

        Returns:
            As `find`.

        Raises:
            DatasetDamagedError: Its digest is not that of metadata.json.
        """
        file, descriptor = partial.file, partial.descriptor
        if file.sha256 and (actual := _sha256(descriptor, file.num_bytes)) != file.sha256:
            self.give_up(partial)
            raise DatasetDamagedError(
                f"{file.url} has sha256 {actual}, but metadata.json states {file.sha256}: it "
                "was changed or damaged; build the dataset again, or restore that file"
            )
        try:
            if not file.sha256:
                seal(descriptor, file.num_bytes, file.local_name)
            os.fsync(descriptor)
            durable.rename(partial.path, self.path(file))
        except OSError as error:
            self.give_up(partial)
            raise self.explain(error) from error
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return descriptor

    def give_up(self, partial: Partial) -> None:
        """Deletes a copy that is not whole."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial.path)
        os.close(partial.descriptor)

    def explain(self, error: OSError) -> BeamTFRecordsError:
        """What to do about a fault of the disk."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return BeamTFRecordsError(
                f"the disk of the cache folder {self.folder} is full; lower --cache-bytes "
                f"(now {self.max_bytes:,}), or name another disk by --cache-dir"
            )
        return BeamTFRecordsError(
            f"the cache folder {self.folder} cannot be written: {error.strerror}"
        )


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: str) -> bool:
    """Whether an open file still lies at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _stored_bytes(file: RemoteFile) -> int:
    """The size of a file's copy."""
    return file.num_bytes + (0 if file.sha256 else SEAL_BYTES)


def _sha256(descriptor: int, num_bytes: int) -> str:
    digest = hashlib.sha256()
    for data in blocks(descriptor, num_bytes):
        digest.update(data)
    return digest.hexdigest()
