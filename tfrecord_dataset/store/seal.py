"""A checksum behind the content of a file that this machine made: of what it is, and all of it.

So a copy that was cut, changed, mixed up with another or never finished is told from a whole one.
CRC-32C is what TFRecord files have for each record; it reads as fast as any disk.
"""

import os
import struct

import google_crc32c

_SEAL = struct.Struct("<I")
SEAL_BYTES = _SEAL.size
_BLOCK_BYTES = 1 << 20


def seal(descriptor: int, num_bytes: int, name: str) -> None:
    """Puts the checksum behind the content of an open file.

    Args:
        descriptor: Of the file.
        num_bytes: Of its content.
        name: What the content is.
    """
    os.pwrite(descriptor, _checksum(descriptor, num_bytes, name), num_bytes)


def sealed_bytes(descriptor: int, name: str) -> int | None:
    """The bytes of an open file's content; None where it is not whole, or another one."""
    num_bytes = os.fstat(descriptor).st_size - SEAL_BYTES
    if num_bytes < 0:
        return None
    stated = os.pread(descriptor, SEAL_BYTES, num_bytes)
    return num_bytes if stated == _checksum(descriptor, num_bytes, name) else None


def _checksum(descriptor: int, num_bytes: int, name: str) -> bytes:
    checksum = google_crc32c.value(name.encode())
    position = 0
    while position < num_bytes:
        data = os.pread(descriptor, min(_BLOCK_BYTES, num_bytes - position), position)
        if not data:
            break  # somebody cuts it
        checksum = google_crc32c.extend(checksum, data)
        position += len(data)
    return _SEAL.pack(checksum)
