"""Checks untrusted relative paths, which must stay below their folder."""

import os
import posixpath
import re

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.store.urls import is_remote

# Characters take up to four bytes, and file systems allow 255 bytes.
_NAME_CHARACTERS = 60


def inner_path(stated: object, where: str) -> str:
    """Return a value that a file states, if it is a relative path below its folder.

    Raises:
        DatasetDamagedError: The value is not such a path.
    """
    if (
        not isinstance(stated, str)
        or not stated
        or "\0" in stated
        or "\\" in stated
        or is_remote(stated)
        or os.path.isabs(stated)
        or posixpath.normpath(stated) != stated
        or stated.split("/")[0] == ".."
        or stated == "."
    ):
        raise DatasetDamagedError(
            f"{where} is {stated!r}, not a path below its own folder, and was not read; "
            "restore the file from its source"
        )
    return stated


def name_part(text: str) -> str:
    """Reduce any text to a valid part of a file name, without separators and not too long."""
    return re.sub(r"[^\w. -]", "_", text)[:_NAME_CHARACTERS]
