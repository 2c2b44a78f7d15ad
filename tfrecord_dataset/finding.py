"""Where a dataset's directory is: it was named itself, or one above it was."""

import os
import re
from collections.abc import Callable, Sequence

from tfrecord_dataset.errors import ConfigError, NotADatasetError
from tfrecord_dataset.metadata import FILE
from tfrecord_dataset.shown_text import one_line

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def named_path(path: str | os.PathLike[str]) -> str:
    """The path that a caller of `open` names.

    Raises:
        ConfigError: It is none.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ConfigError(
            f"{one_line(repr(path))} names no dataset; give the path of its folder or files"
        )
    return os.fspath(path)


def find_dataset(
    path: str, exists: Callable[[str], bool], folders: Callable[[str], Sequence[str]]
) -> str:
    """The dataset directory at or below `path`: itself, or the newest version of the only one.

    Args:
        path: Of a folder.
        exists: Whether there is a file at a path.
        folders: The names of the folders in a folder.

    Raises:
        NotADatasetError: There is no finished dataset.
        ConfigError: There are several datasets.
    """

    def is_finished(folder: str) -> bool:
        return exists(os.path.join(folder, FILE))

    def newest_version(folder: str) -> str | None:
        versions = [
            (tuple(map(int, match.groups())), child)
            for child in folders(folder)
            if (match := _VERSION.fullmatch(child)) and is_finished(os.path.join(folder, child))
        ]
        return os.path.join(folder, max(versions)[1]) if versions else None

    if is_finished(path):
        return path
    if newest := newest_version(path):
        return newest
    versions = {child: newest_version(os.path.join(path, child)) for child in folders(path)}
    found = {child: version for child, version in versions.items() if version}
    if len(found) > 1:
        raise ConfigError(
            f"{path} holds several datasets: {', '.join(found)}; open one, such as "
            f"{os.path.join(path, min(found))}"
        )
    if found:
        return next(iter(found.values()))
    raise NotADatasetError(
        f"{path} is not a finished dataset: there is no {FILE} in it, nor in a version "
        "(1.0.0) below it. Its build was interrupted, or it never was a dataset: run "
        "`python -m beam_pipeline build` (again), or open bare TFRecord files by a glob: "
        f"{os.path.join(path, '*.tfrecord*')}"
    )
