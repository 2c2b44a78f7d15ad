"""Decompress files by suffix, with a limit on the unpacked size; damage rejects a record."""

import bz2
import contextlib
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from beam_pipeline.errors import RecordError
from tfrecord_dataset.format.inflation import check_inflation
from tfrecord_dataset.store.urls import unsigned

# Memory limit for xz; its largest preset needs a sixth.
_XZ_BYTES = 384 << 20
_BLOCK_BYTES = 1 << 16


class _Streams:
    """Content of a bz2 or xz file with one or more streams."""

    def __init__(self, packed: Any, new: Callable[[], Any]):
        self._packed, self._new = packed, new
        self._stream = new()

    def read(self, size: int) -> bytes:
        data = b""
        while not data:
            more = b""
            if self._stream.eof:
                more = self._stream.unused_data.lstrip(b"\0") or self._packed.read(_BLOCK_BYTES)
                if not more:
                    break
                self._stream = self._new()
            elif self._stream.needs_input and not (more := self._packed.read(_BLOCK_BYTES)):
                raise EOFError("the file ends within its last stream")
            data = self._stream.decompress(more, size)
        return data

    def close(self) -> None:
        """Do nothing: the caller that opened the file closes it."""


def _zstd(packed: Any) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(packed, "zstd")


_BY_SUFFIX: Mapping[str, Callable[[Any], Any]] = {
    "gz": lambda packed: gzip.GzipFile(fileobj=packed),
    "bz2": lambda packed: _Streams(packed, bz2.BZ2Decompressor),
    "xz": lambda packed: _Streams(packed, lambda: lzma.LZMADecompressor(memlimit=_XZ_BYTES)),
    "zst": _zstd,
}


def suffix_of(path: str) -> str:
    """Return the compression's suffix: "gz", "bz2", "xz", "zst", or "" for a plain file."""
    ending = unsigned(path).rpartition(".")[2]
    return ending if ending in _BY_SUFFIX else ""


class Unpacking:
    """Content of a compressed file, read sequentially; `name` is for error messages."""

    def __init__(self, content: Any, packed: Any, name: str):
        self._content, self._packed, self._name = content, packed, name
        self._num_bytes = 0

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes, none at the end.

        Raises:
            RecordError: "truncated file", "damaged file", or "file too large".
            OSError: Reading the file failed.
        """
        try:
            data = bytes(self._content.read(size)) if size else b""
        except EOFError as error:
            raise RecordError("truncated file", f"{self._name}: {error}") from error
        except (zlib.error, lzma.LZMAError, ValueError, MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise RecordError("damaged file", f"{self._name}: {error}") from error
        self._num_bytes += len(data)
        check_inflation(self._name, self._packed.tell(), self._num_bytes)
        return data

    def tell(self) -> int:
        """Return the number of bytes read so far."""
        return self._num_bytes


@contextlib.contextmanager
def unpacking(packed: Any, path: str, ending: str) -> Iterator[Unpacking]:
    """Open the content of `packed`, the open file at `path`, by its compression's suffix."""
    name = unsigned(path).rpartition("/")[2]
    with contextlib.closing(_BY_SUFFIX[ending](packed)) as content:
        yield Unpacking(content, packed, name)
