"""Which manifests a path means, and which split each is."""

import dataclasses
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.columns.column import Columns, TableOptions
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import InputFile, NamingFile
from beam_pipeline.sources.paths import folder, joined, media_kind, suffix, uncompressed
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.split_names import is_split, split_of_folders, split_of_name

# What AutoML and Vertex write in their ML_USE column.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(NamingFile):
    """One file of rows.

    Attributes:
        folder: What the files' paths are relative to.
        folders: Further such folders, of files that are not there.
        before: What the paths begin with on the machine where they were written.
        ending: The suffix that the files have here, if it is another.
    """

    folder: str
    folders: tuple[str, ...] = ()
    before: str = ""
    ending: str = ""

    def as_here(self, name: str) -> str:
        """A path as it is without the parts of another machine."""
        if self.before:
            name = name.strip().replace("\\", "/").removeprefix(self.before)
        return f"{name.rpartition('.')[0]}.{self.ending}" if self.ending else name

    def key_of(self, name: str) -> str:
        """The key of the file that the manifest calls `name`; raises what `locate` does."""
        return self._located(name)[0]

    def path_of(self, name: str) -> str:
        """The path of the file that the manifest calls `name`; raises what `locate` does."""
        return self._located(name)[1]

    def _located(self, name: str) -> tuple[str, str]:
        name = self.as_here(name)
        first = self.locate(name, self.folder)
        if not self.folders or storage.exists(first[1]):
            return first
        others = (self.locate(name, folder) for folder in self.folders)
        return next((each for each in others if storage.exists(each[1])), first)


def find_manifests(
    path: str,
    suffixes: Sequence[str],
    options: TableOptions,
    ignored: Ignored = NOTHING,
    names: Collection[str] = (),
) -> list[Manifest]:
    """The manifests that `path` means.

    Args:
        path: A file, or a folder that has: Hugging Face's metadata file; or one in each folder of a
            split (also below `data/`); or files of `suffixes` named after splits; or a
            single file of `suffixes`.
        suffixes: Of manifests, without dot; "metadata." and the first is Hugging Face's.
        options: What a user says of tables.
        ignored: Files that are left out.
        names: Those of a folder, where it is known which are meant.

    Raises:
        ConfigError: There is no such file, or it is not clear which.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    if storage.is_directory(path):
        root = path
        found = splits_of(sorted(names)) if names else _tables_in(path, suffixes, ignored)
        files = {storage.join(path, name): (name, split) for name, split in found.items()}
    elif storage.exists(path):
        root, files = parent(path), {path: (name_of(path), None)}
    else:
        raise ConfigError(f"the manifest {path} does not exist")
    return [
        manifest_of(InputFile(path=file, relative=name, split=split), root, options)
        for file, (name, split) in files.items()
    ]


def _tables_in(path: str, suffixes: Sequence[str], ignored: Ignored) -> Mapping[str, str | None]:
    """The split of each table of a folder that is meant, by its path there."""
    metadata = f"metadata.{suffixes[0]}"
    if storage.exists(storage.join(path, metadata)) and not ignored(metadata):
        return {metadata: None}
    found = sorted(
        file.relative
        for file in storage.list_files(path)
        if suffix(uncompressed(file.relative)) in suffixes and file.relative.count("/") <= 2
        if not ignored(file.relative)
    )
    if by_folder := {file: name_of(parent(file)) for file in found if name_of(file) == metadata}:
        return by_folder
    top = [file for file in found if "/" not in file]
    if splits := splits_of_tables(top):
        return splits
    if len(top) == 1:
        return {top[0]: None}
    of_splits = [name for name in top if split_of_name(name)]
    others = " ".join(f"--ignore {shlex.quote(each)}" for each in top if each not in of_splits)
    without = f"pass {others}, or " if splits_of_tables(of_splits) else ""
    raise ConfigError(
        f"{path} has {', '.join(top[:5]) or 'no manifest'}: {without}give one file itself, or a "
        f"folder with {metadata} or files named after splits (train.{suffixes[0]})"
    )


def manifest_of(file: InputFile, root: str, options: TableOptions) -> Manifest:
    """A file below `root`, whose names lie below a user's root of images, or beside it."""
    media_root = storage.absolute(options.image_root).rstrip("/") if options.image_root else None
    return Manifest(
        path=file.path,
        relative=file.relative,
        split=file.split,
        folder=media_root or parent(file.path),
        root=media_root or root,
        allowed=(root, *options.allow_outside),
    )


def splits_of(names: Sequence[str]) -> dict[str, str | None]:
    """The split of each table, of tables of one folder or of one name in the folders of splits.

    A single one leaves it to the build: there is nothing else.
    """
    if len(names) == 1:
        return {names[0]: None}
    folders = [folder(name) for name in names]
    if len(set(folders)) == len(names) and all(is_split(name_of(each)) for each in folders):
        return {name: name_of(parent) for name, parent in zip(names, folders, strict=True)}
    splits = splits_of_tables([name_of(name) for name in names])
    return {name: splits.get(name_of(name)) for name in names}


def split_folder(key: str) -> str | None:
    """The split that the folders of a file below the input state; None for one elsewhere."""
    elsewhere = key.startswith(("/", "../")) or storage.is_remote(key)
    return None if elsewhere else split_of_folders(key)


def split_of_row(stated: Any, key: str, manifest: Manifest, columns: Columns) -> str | None:
    """What the row states, else its manifest, else its folder; None leaves it to the build."""
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(key) if columns.split_folders else None
    return (split.lower() if split in _ML_USES else split) or manifest.split or by_folder


def folders_left_out(
    path: str, manifests: Collection[Manifest], ignored: Ignored = NOTHING
) -> list[str]:
    """Folders with splits' names and media beside those that hold `manifests`, found at `path`."""
    holders = {folder(manifest.relative) for manifest in manifests} - {""}
    tree = Tree(storage.absolute(path).rstrip("/") or "/", ignored)
    beside = {
        joined(folder(holder), name)
        for holder in holders
        for name in tree.look(folder(holder)).folders
        if is_split(name)
    }
    return sorted(
        each
        for each in beside - holders
        if any(media_kind(name) for _, below in tree.walk(each) for name in below.files)
    )
