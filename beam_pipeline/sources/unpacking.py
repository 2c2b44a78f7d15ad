"""Compressed inputs, unpacked once: byte ranges, which records refer to, need files as they are.

What is unpacked lies in the build's scratch folder, on the storage that all workers share, and
goes when the build commits. Its name derives from the input's path, size and time, so that a
worker that tries again, or a build that goes on, finds it.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator

from beam_pipeline import storage
from beam_pipeline.errors import RecordError

_BLOCK_BYTES = 1 << 20


def unpack_gzip(path: str, scratch: str) -> str:
    """The path of the decompressed content of a gzip file, made below `scratch` if need be.

    Raises:
        RecordError: "missing file", "unreadable file", "truncated file", or "damaged file"
            where it is not gzip to its end or a checksum is wrong.
    """
    return unpacked(path, "", scratch, gunzipped(path))


def unpacked(path: str, part: str, scratch: str, blocks: Iterable[bytes]) -> str:
    """The path of a file that holds `blocks`, the content of a `part` of the input `path`.

    The blocks are asked for only where the file is not there yet.
    """
    name = hashlib.sha256(f"{path}\0{part}\0{storage.version(path)}".encode()).hexdigest()[:32]
    target = storage.join(scratch, name)
    if not storage.exists(target):
        with storage.writing(target) as handle:
            for block in blocks:
                handle.write(block)
    return target


def gunzipped(path: str) -> Iterator[bytes]:
    """The decompressed content of a gzip file, block by block.

    Raises:
        RecordError: As `unpack_gzip`.
    """
    name = path.rpartition("/")[2]
    with storage.opened(path) as handle:
        unpacking = gzip.GzipFile(fileobj=handle)
        try:
            while block := unpacking.read(_BLOCK_BYTES):
                yield block
        except EOFError as error:
            raise RecordError("truncated file", f"{name}: {error}") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise RecordError("damaged file", f"{name}: {error}") from error
