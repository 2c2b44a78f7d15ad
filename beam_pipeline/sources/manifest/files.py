"""Which manifests a path means, and which split each is."""

import dataclasses
from collections.abc import Collection

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import NamingFile
from beam_pipeline.sources.paths import folder, joined, media_kind, suffix, uncompressed
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.split_names import is_split, split_of_folders


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(NamingFile):
    """One file of rows.

    Attributes:
        folder: What the files' paths are relative to.
    """

    folder: str

    def key_of(self, name: str) -> str:
        """The key of the file that the manifest calls `name`; raises what `locate` does."""
        return self.locate(name, self.folder)[0]

    def path_of(self, name: str) -> str:
        """The path of the file that the manifest calls `name`; raises what `locate` does."""
        return self.locate(name, self.folder)[1]


def find_manifests(
    path: str,
    image_root: str,
    metadata: str,
    suffixes: Collection[str],
    ignored: Ignored = NOTHING,
) -> list[Manifest]:
    """The manifests that `path` means.

    Args:
        path: A file, or a folder that has: the file `metadata`; or one in each folder of a
            split (also below `data/`); or files of `suffixes` named after splits; or a
            single file of `suffixes`.
        image_root: What the files' paths are relative to, if not the manifest's folder.
        metadata: Hugging Face's file name.
        suffixes: Of manifests, without dot.
        ignored: Files that are left out.

    Raises:
        ConfigError: There is no such file, or it is not clear which.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    media_root = storage.absolute(image_root).rstrip("/") if image_root else None
    if not storage.is_directory(path):
        if not storage.exists(path):
            raise ConfigError(f"the manifest {path} does not exist")
        manifest = manifest_of(parent(path), name_of(path), None, media_root)
        return [dataclasses.replace(manifest, path=path)]
    if storage.exists(storage.join(path, metadata)) and not ignored(metadata):
        return [manifest_of(path, metadata, None, media_root)]

    found = sorted(
        file.relative
        for file in storage.list_files(path)
        if suffix(uncompressed(file.relative)) in suffixes and file.relative.count("/") <= 2
        if not ignored(file.relative)
    )
    if by_folder := [file for file in found if name_of(file) == metadata]:
        return [manifest_of(path, file, name_of(parent(file)), media_root) for file in by_folder]
    top = [file for file in found if "/" not in file]
    if splits := splits_of_tables(top):
        return [manifest_of(path, file, split, media_root) for file, split in splits.items()]
    if len(top) == 1:
        return [manifest_of(path, top[0], None, media_root)]
    raise ConfigError(
        f"{path} has {', '.join(top[:5]) or 'no manifest'}: give one file itself, or a folder "
        f"with {metadata} or files named after splits (train.{metadata.rpartition('.')[2]})"
    )


def split_folder(key: str) -> str | None:
    """The split that the folders of a file below the input state; None for one elsewhere."""
    elsewhere = key.startswith(("/", "../")) or storage.is_remote(key)
    return None if elsewhere else split_of_folders(key)


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


def manifest_of(root: str, relative: str, split: str | None, media_root: str | None) -> Manifest:
    """The file at a path below `root`, whose names lie below `media_root`, or below `root`."""
    path = storage.join(root, relative)
    return Manifest(
        path=path,
        relative=relative,
        split=split,
        folder=media_root or parent(path),
        root=media_root or root,
        allowed=(root,),
    )
