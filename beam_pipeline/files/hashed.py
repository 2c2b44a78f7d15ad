"""Files that are hashed while they are written, so that nobody has to read them for it."""

import hashlib
from typing import Any


class HashedFile:
    """A handle of a new file that hashes and counts the bytes that are written to it.

    Attributes:
        num_bytes: Bytes so far.
    """

    def __init__(self, handle: Any):
        self._handle = handle
        self._digest = hashlib.sha256()
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes so far."""
        return self._digest.hexdigest()

    def write(self, data: Any) -> None:
        self._digest.update(data)
        self.num_bytes += memoryview(data).nbytes
        self._handle.write(data)

    def __getattr__(self, name: str) -> Any:  # what else a writer asks of a file
        return getattr(self._handle, name)
