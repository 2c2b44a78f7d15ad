"""Read the content of one member of an archive from its byte range."""

import io
import zlib
from collections.abc import Callable
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.member_paths import DAMAGED, MemberLocation
from beam_pipeline.files.archive.members import LOCAL_HEADER_BYTES, content_start
from tfrecord_dataset.seekable import Seekable

# Usual size of a header with name and extra fields, so that one read gets header and content.
_HEADER_BYTES = 300
_BLOCK_BYTES = 1 << 18
_RAW_DEFLATE = -15

ReadRange = Callable[[int, int], bytes]
"""Read (offset, length) of the archive; fewer bytes at its end."""


def span(place: MemberLocation) -> tuple[int, int]:
    """(offset, length) of a range that holds the content and, usually, its header."""
    header = 0 if place.method == "plain" else _HEADER_BYTES
    return place.offset, header + place.packed


def whole(place: MemberLocation, name: str, read: ReadRange) -> bytes:
    """Read all of a member's content and check its checksum."""
    data = read(*span(place))
    begin = content_start(data, place)
    if (lacking := begin + place.packed - len(data)) > 0:
        data += read(place.offset + len(data), lacking)
    packed = memoryview(data)[begin : begin + place.packed]
    if len(packed) < place.packed:
        raise _truncated(name, place.packed - len(packed))
    if place.method == "plain":
        return bytes(packed)
    content = bytes(packed) if place.method == "stored" else _inflated(packed, place, name)
    if len(content) != place.length or zlib.crc32(content) != place.crc32:
        raise _damaged(name, "its checksum is wrong")
    return content


def content_offset(archive: Any, place: MemberLocation) -> int:
    """Return the offset in an open archive at which the content begins."""
    archive.seek(place.offset)
    head = b"" if place.method == "plain" else archive.read(LOCAL_HEADER_BYTES)
    return place.offset + content_start(head, place)


def _inflated(packed: Any, place: MemberLocation, name: str) -> bytes:
    inflating = zlib.decompressobj(_RAW_DEFLATE)
    try:
        # Ask for one byte more than stated to detect a longer content without inflating all of it.
        return inflating.decompress(packed, place.length + 1)
    except zlib.error as error:
        raise _damaged(name, str(error)) from error


def _truncated(name: str, lacking: int) -> RecordError:
    return RecordError("truncated file", f"{name} lacks {lacking:,} bytes in its archive")


def _damaged(name: str, how: str) -> RecordError:
    return RecordError(
        DAMAGED, f"{name} is damaged in its archive ({how}); fetch the archive again"
    )


class MemberReader(Seekable):
    """A member's content as a seekable handle; seeking back in a deflated one inflates again.

    Closing it closes the archive; `name` is for error messages.
    """

    def __init__(self, archive: Any, place: MemberLocation, name: str):
        super().__init__(place.length)
        self._archive = archive
        self._place = place
        self._name = name
        self._begin = -1
        self._restart()

    def _restart(self) -> None:
        self._inflating = zlib.decompressobj(_RAW_DEFLATE)
        self._num_read = 0  # bytes of the content
        self._num_packed = 0
        self._crc32 = 0

    def _some(self, length: int) -> bytes:
        return (self._deflated if self._place.method == "deflated" else self._stored)(length)

    def _packed(self, start: int, size: int) -> bytes:
        """Read the member's raw bytes from the archive."""
        if self._begin < 0:
            self._begin = content_offset(self._archive, self._place)
        self._archive.seek(self._begin + start)
        data = bytes(self._archive.read(min(size, self._place.packed - start)))
        if not data:
            raise _truncated(self._name, self._place.packed - start)
        return data

    def _stored(self, size: int) -> bytes:
        data = self._packed(self._position, size)
        if self._place.method == "stored" and self._position == self._num_read:
            self._count(data)
        return data

    def _deflated(self, size: int) -> bytes:
        if self._position < self._num_read:
            self._restart()
        while self._num_read < self._position:
            self._inflate(min(_BLOCK_BYTES, self._position - self._num_read))
        return self._inflate(size)

    def _inflate(self, size: int) -> bytes:
        """Return the next bytes of the content, at least one."""
        data = b""
        while not data:
            packed = self._inflating.unconsumed_tail
            if not packed and self._num_packed < self._place.packed:
                packed = self._packed(self._num_packed, _BLOCK_BYTES)
                self._num_packed += len(packed)
            at_end = not packed
            try:
                data = self._inflating.decompress(packed, size)
            except zlib.error as error:
                raise _damaged(self._name, str(error)) from error
            if at_end and not data:
                raise _damaged(self._name, "it ends early")
        self._count(data)
        return data

    def _count(self, data: bytes) -> None:
        """Check the checksum once all content has been read in sequence."""
        self._num_read += len(data)
        self._crc32 = zlib.crc32(data, self._crc32)
        if self._num_read == self._place.length and self._crc32 != self._place.crc32:
            raise _damaged(self._name, "its checksum is wrong")

    def close(self) -> None:
        if not self.closed:
            self._archive.close()
        super().close()


def open_member(archive: Any, place: MemberLocation, name: str) -> io.BufferedReader:
    """Open a buffered handle of a member's content."""
    return io.BufferedReader(MemberReader(archive, place, name), _BLOCK_BYTES)
