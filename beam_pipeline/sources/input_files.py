"""Find the files of an input: one file, a folder, or a pattern."""

import dataclasses
from collections.abc import Callable

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.references import locate
from beam_pipeline.sources.tree import matched_files
from tfrecord_dataset.format.split_names import splits_of_files


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file of many records.

    Attributes:
        path: Absolute path or URL.
        relative: Path below the input, for keys and messages.
        split: Split in the name of the folder or file.
    """

    path: str
    relative: str
    split: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamingFile(InputFile):
    """A file whose records name other files.

    Attributes:
        root: The folder that keys are relative to.
        allowed: Further folders whose files may be named.
    """

    root: str
    allowed: tuple[str, ...] = ()

    def locate(self, name: str, folder: str) -> tuple[str, str]:
        """Return the key and the path of a file called `name` in `folder`, as `locate` does."""
        return locate(name, folder=folder, root=self.root, allowed=self.allowed)


def find_files(
    path: str, is_meant: Callable[[str], bool], ignored: Ignored = NOTHING
) -> list[InputFile]:
    """Find the files of an input, sorted.

    Args:
        path: A file, a folder with all files below it, or a pattern (`storage.match_files`).
        is_meant: Whether the layout reads a file of this name; not used for a single file.
        ignored: Files to leave out of a folder or a pattern.

    Raises:
        ConfigError: No file was found.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    if storage.is_directory(path):
        files = {file.relative: file.path for file in storage.list_files(path)}
    else:
        _, files = matched_files(path)
    is_one = [*files.values()] == [path]
    names = sorted(name for name in files if is_one or (is_meant(name) and not ignored(name)))
    if not names:
        listed = ", ".join(sorted(files)[:5]) or "nothing"
        raise ConfigError(f"the input {path} has no such file (found {listed}); give another")
    return [
        InputFile(path=files[name], relative=name, split=split)
        for name, split in zip(names, splits_of_files(names), strict=True)
    ]
