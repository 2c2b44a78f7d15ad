"""What all files in archives have in common: nothing is written."""

import errno
from collections.abc import Sequence
from typing import Any

from beam_pipeline.files.backend import Backend


class ReadOnly(Backend):
    """Files of archives, which refuse to be written; their sizes are asked for one by one."""

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        return list(map(self._size, paths))

    def create(self, path: str) -> Any:
        raise _read_only(path)

    def writing(self, path: str, durable: bool) -> Any:
        raise _read_only(path)

    def make_folder(self, path: str) -> None:
        raise _read_only(path)

    def _place(self, pair: tuple[str, str]) -> None:
        raise _read_only(pair[1])

    def delete(self, path: str) -> None:
        raise _read_only(path)


def _read_only(path: str) -> OSError:
    return OSError(errno.EROFS, "Nothing is written into an archive", path)
