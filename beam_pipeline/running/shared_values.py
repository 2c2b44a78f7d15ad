"""Values in a folder that the processes of a job share.

The folder may be on a store that others write to, and a pickle runs any code when it is read: each
value is signed with a key that only the job's processes have.
"""

import dataclasses
import hashlib
import hmac
import pickle
import secrets
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.running.pickling import pickled
from tfrecord_dataset.seekable import buffered

_HEAD = struct.Struct("<I32s")  # length and signature
_BUFFER_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class SharedValues:
    """Files of pickled values by name.

    Attributes:
        folder: A folder that all processes of the job see.
        key: The key, which reaches workers with their functions.
    """

    folder: str
    key: bytes = dataclasses.field(default_factory=secrets.token_bytes, repr=False)

    def save(self, name: str, values: Iterable[Any]) -> None:
        """Write a file of values; it appears once it is complete."""
        with storage.writing(storage.join(self.folder, name)) as handle:
            for number, value in enumerate(values):
                data = pickled(value)
                handle.write(_HEAD.pack(len(data), self._signature(name, number, data)) + data)

    def load(self, name: str) -> Iterator[Any]:
        """Yield the values of a file in order.

        Raises:
            RecordError: The file cannot be read.
            BeamTFRecordsError: It is not as `save` wrote it.
        """
        path = storage.join(self.folder, name)
        number = 0
        with storage.opened(path) as handle, buffered(handle, _BUFFER_BYTES) as reader:
            while head := reader.read(_HEAD.size):
                length, signature = _HEAD.unpack(head.ljust(_HEAD.size))
                data = reader.read(length)
                if not hmac.compare_digest(signature, self._signature(name, number, data)):
                    raise BeamTFRecordsError(
                        f"{path} is not as this command wrote it; run the same command again"
                    )
                yield pickle.loads(data)
                number += 1

    def _signature(self, name: str, number: int, data: bytes) -> bytes:
        return hmac.digest(self.key, f"{name}:{number}:".encode() + data, hashlib.sha256)
