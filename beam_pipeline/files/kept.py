"""Local copies of objects of a store, so that a build's second read needs no request.

Records are read to inspect them, and again to write them. One machine keeps the bytes on its disk
meanwhile. On a cluster nothing is kept, as the worker that writes a record did not inspect it.

No Beam here: worker processes import this module.
"""

import contextlib
import dataclasses
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator

from beam_pipeline.files import storage
from beam_pipeline.records import FileRef

# Larger ones take about as long to fetch as to write and to read here.
_MOST_BYTES = 4 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """Copies of small objects and ranges, by their location, in a folder; without one, none.

    Attributes:
        min_free_bytes: What stays free of the folder's disk.
    """

    folder: str = ""
    min_free_bytes: int = 0

    def keeping(self, read: storage.ReadFile) -> storage.ReadFile:
        """Return a function that reads like `read` and keeps what it reads of a store."""
        if not self.folder:
            return read

        def read_and_keep(file: FileRef, *at_most: int) -> bytes:
            data = read(file, *at_most)
            if storage.is_remote(file.path) and len(data) <= _MOST_BYTES:
                self._keep(file, data)
            return data

        return read_and_keep

    def read(self, file: FileRef, *at_most: int) -> bytes:
        """Read a file that was inspected, from its copy if there is one."""
        if self.folder and storage.is_remote(file.path):
            with contextlib.suppress(FileNotFoundError), open(self._path(file), "rb") as copy:
                return copy.read()
        return storage.read_bytes(file, *at_most)

    def _keep(self, file: FileRef, data: bytes) -> None:
        free = os.statvfs(self.folder)
        if free.f_bavail * free.f_frsize < self.min_free_bytes:
            return
        path = self._path(file)
        partial = f"{path}.{os.getpid()}.{threading.get_ident()}"
        with contextlib.suppress(OSError):  # such as a disk without inodes: it is fetched again
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(partial, "wb") as copy:
                copy.write(data)
            os.rename(partial, path)

    def _path(self, file: FileRef) -> str:
        place = f"{file.offset} {file.length} {file.path}"
        name = hashlib.blake2b(place.encode(errors="surrogatepass"), digest_size=16).hexdigest()
        return f"{self.folder}/{name[:2]}/{name}"


NOTHING_KEPT = Kept()


@contextlib.contextmanager
def keeping(folder: str) -> Iterator[Kept]:
    """Keep copies in a new folder inside `folder`, in at most half of the free space."""
    with tempfile.TemporaryDirectory(
        prefix=".kept-", dir=folder, ignore_cleanup_errors=True
    ) as inside:
        free = os.statvfs(inside)
        yield Kept(inside, free.f_bavail * free.f_frsize // 2)
