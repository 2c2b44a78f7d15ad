"""Compressed inputs, unpacked once: byte ranges, which records refer to, need files as they are.

What is unpacked lies in the build's scratch folder, on the storage that all workers share, and
goes when the build commits. Its name derives from the input's path, size and time, so that a
worker that tries again, or a build that goes on, finds it.
"""

import contextlib
import gzip
import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.arrays import ArrayHeader, array_header, raw_values
from beam_pipeline.media.npz import DAMAGED, TRUNCATED

_BLOCK_BYTES = 1 << 20
# Rows of an array in Fortran order lie scattered over all of it: many are gathered at once.
_TURNED_BYTES = 16 << 20


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


def unpack_array(path: str, member: str, scratch: str) -> str:
    """The path of an array's values alone: little-endian, in C order; made if need be.

    Args:
        path: A .npy file, or an .npz file.
        member: The array's name in the .npz file; "" of a .npy file.
        scratch: The folder for it.

    Raises:
        RecordError: As `array_values`.
    """
    return unpacked(path, member, scratch, array_values(path, member))


def check_stored(path: str, member: str) -> None:
    """Reads an array of an .npz file to its end, where its checksum is; a .npy file has none.

    Raises:
        RecordError: As `array_values`.
    """
    if member:
        with opened_array(path, member) as handle:
            while handle.read(_BLOCK_BYTES):
                pass


def array_values(path: str, member: str) -> Iterator[bytes]:
    """An array's values, little-endian and in C order, block by block.

    A checksum, where there is one, is right once the last block is out.

    Raises:
        RecordError: "missing file", "unreadable file", "truncated array" or "damaged array",
            and the reasons of `array_header`.
    """
    with opened_array(path, member) as handle:
        header = array_header(handle)
    blocks = _stored_values(path, member)
    if "fortran order" in header.conversions and header.num_bytes:
        blocks = _turned(blocks, header)
    yield from blocks


def _stored_values(path: str, member: str) -> Iterator[bytes]:
    """An array's values, little-endian, in the order of the file."""
    with opened_array(path, member) as handle:
        header = array_header(handle)
        yield from _native(_exactly(handle, header.num_bytes), header.dtype)


@contextlib.contextmanager
def opened_array(path: str, member: str) -> Iterator[Any]:
    """The .npy file at `path`, or of the `member` of an .npz file, to read from its beginning."""
    with storage.opened(path) as handle:
        if not member:
            yield handle
            return
        try:
            with zipfile.ZipFile(handle) as archive, archive.open(f"{member}.npy") as part:
                yield part
        except (RecordError, OSError):
            raise
        except Exception as error:  # a broken zip may raise anything
            raise RecordError(DAMAGED, f"{member}: {error}") from error


def _exactly(handle: Any, num_bytes: int) -> Iterator[bytes]:
    """All that `handle` has left, which is to be so much."""
    left = num_bytes
    while left:
        block = handle.read(min(left, _BLOCK_BYTES))
        if not block:
            raise RecordError(TRUNCATED, f"{left:,} of {num_bytes:,} bytes are missing")
        left -= len(block)
        yield block
    if handle.read(1):
        raise RecordError(DAMAGED, "bytes follow the values; a file holds one array, saved once")


def _native(blocks: Iterable[bytes], dtype: np.dtype[Any]) -> Iterator[bytes]:
    """The blocks with their values little-endian."""
    wanted = dtype.newbyteorder("<")
    rest = b""
    for block in blocks:
        data = rest + block
        whole = len(data) - len(data) % dtype.itemsize
        rest = data[whole:]
        yield raw_values(data[:whole], dtype).astype(wanted, copy=False).tobytes()


def _turned(blocks: Iterable[bytes], header: ArrayHeader) -> Iterator[bytes]:
    """Values in Fortran order, in C order; through a temporary file."""
    with tempfile.TemporaryFile(prefix="beam-tfrecords-fortran-") as file:
        for block in blocks:
            file.write(block)
        file.flush()
        dtype = header.dtype.newbyteorder("<")
        values = np.memmap(file, dtype, mode="r", shape=header.shape, order="F")
        rows = max(1, _TURNED_BYTES * len(values) // max(1, header.num_bytes))
        for start in range(0, len(values), rows):
            yield np.ascontiguousarray(values[start : start + rows]).tobytes()
