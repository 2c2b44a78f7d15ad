"""Paths that a file of somebody else states: they stay below the folder that they belong to."""

import os
import posixpath
import re

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.store.urls import is_remote

# Of four bytes at most; file systems take 255 bytes.
_NAME_CHARACTERS = 60


def inner_path(stated: object, where: str) -> str:
    """A relative path with "/" that leads to no other folder, as it was stated.

    Args:
        stated: What a file states, of any type.
        where: What the error says of it, such as "metadata.json: splits.train.shards[0].file".

    Raises:
        DatasetDamagedError: It is no such path.
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
            f"{where} is {stated!r}, which is no path below its own folder; nothing is read there: "
            "restore the file from where it was made"
        )
    return stated


def name_part(text: str) -> str:
    """What of any text can stand in the name of a new file: no path, and not too long."""
    return re.sub(r"[^\w. -]", "_", text)[:_NAME_CHARACTERS]
