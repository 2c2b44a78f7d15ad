"""What all read-only handles of a known size have in common: where they stand."""

import io


class Seekable(io.RawIOBase):
    """A binary file to read and to seek in; `readinto` is its subclass's.

    Args:
        size: Bytes of the file.
    """

    def __init__(self, size: int):
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position
