"""Which files an input means: one file, those of a folder, or those that fit a pattern."""

import dataclasses
import re
from collections.abc import Callable, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.paths import is_split_name, split_of
from beam_pipeline.sources.references import name_of, parent

_YEAR_OR_NUMBER = re.compile(r"\d+$")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file of many records.

    Attributes:
        path: Absolute path or URL.
        relative: The path below the input, for keys and messages.
        split: The split that the folder or the name states.
    """

    path: str
    relative: str
    split: str | None


def find_files(path: str, is_meant: Callable[[str], bool]) -> tuple[list[InputFile], list[str]]:
    """The files that `path` means, sorted, and the relative paths of those beside them.

    Args:
        path: A file; or a folder, with all below it; or a pattern (`storage.match_files`).
        is_meant: Whether a file of this name belongs to the layout; the one file that is
            given itself does.

    Raises:
        ConfigError: There is no such file, or none that is meant.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    if storage.is_directory(path):
        files = {file.relative: file.path for file in storage.list_files(path)}
    elif storage.exists(path):
        files = {name_of(path): path}
        return _input_files(files), []
    else:
        root = parent(re.split(r"[*?[]", path, maxsplit=1)[0] + "x").rstrip("/")
        files = {found[len(root) + 1 :]: found for found in storage.match_files(path)}
    meant = {name: file for name, file in files.items() if is_meant(name)}
    if not meant:
        found = ", ".join(sorted(files)[:5]) or "nothing"
        raise ConfigError(f"the input {path} has no such file (found {found}); give another")
    return _input_files(meant), sorted(files.keys() - meant.keys())


def _input_files(files: dict[str, str]) -> list[InputFile]:
    relatives = sorted(files)
    splits = stated_splits(relatives)
    return [
        InputFile(path=files[relative], relative=relative, split=split)
        for relative, split in zip(relatives, splits, strict=True)
    ]


def stated_splits(relatives: Sequence[str]) -> list[str | None]:
    """The split of each file, if each lies in a split's folder, or is called after one.

    "train-000.tar", "mnist_train.npz" and "pets-train.tfrecord-00000-of-00004" are called after
    a split: one of the name's words, without a number behind it, is a split's name.
    """
    for find in (split_of, split_in_name):
        splits = [find(relative) for relative in relatives]
        if all(splits):
            return splits
    return [None] * len(relatives)


def split_in_name(path: str) -> str | None:
    """The first word of the file's name that is a split's name, without year or number."""
    words = (_YEAR_OR_NUMBER.sub("", word) for word in re.split(r"[_\-.]", name_of(path)))
    return next(filter(is_split_name, words), None)
