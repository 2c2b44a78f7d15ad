"""Replaces the dataset's directory at the commit with the new dataset.

Applies to local disks. On a store the shards have their final names, and no older dataset exists.
"""

import errno
import functools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.write.claim import made_meanwhile
from beam_pipeline.write.rejects import REJECTS_FILE
from beam_pipeline.write.working_directory import new_dataset_dir, working_dir
from tfrecord_dataset.durable import replace_folder, restore_folder

# Files of a dataset's directory that builds write.
FOLDERS = ("", "index", "idx")


def make_dataset(
    config: BuildConfig,
    files: Mapping[str, TemporaryFile],
    write_descriptions: Callable[[str], None],
) -> None:
    """Make the dataset of its files and descriptions; safe to repeat.

    Local files: the new dataset is completed in a directory of its own and replaces the older one
    in one step. On a store the last file, metadata.json, completes it.

    Args:
        files: Finished files, by path in the dataset's directory.
        write_descriptions: Writes all other files into a directory, metadata.json last.

    Raises:
        FileNotFoundError: A file is missing.
        FileExistsError: Another build's object exists in place of a file.
    """
    if not storage.is_remote(config.dataset_dir):
        _replace_folder(config, files, write_descriptions)
        return
    there = {
        f"{folder}/{name}".lstrip("/")
        for folder in FOLDERS
        for name in storage.list_dir(storage.join(config.dataset_dir, folder))
    }
    if missing := sorted(files.keys() - there):
        path = files[missing[0]].path
        raise FileNotFoundError(errno.ENOENT, "A finished shard was deleted", path)
    write_descriptions(config.dataset_dir)


def _replace_folder(
    config: BuildConfig,
    files: Mapping[str, TemporaryFile],
    write_descriptions: Callable[[str], None],
) -> None:
    new, root = new_dataset_dir(config), config.dataset_dir
    restore_folder(new, root)
    storage.delete([new])
    placed = [(file.path, os.path.join(new, final)) for final, file in files.items()]
    LOCAL.link_all(placed, instead=os.rename)
    write_descriptions(new)
    kept = [
        (os.path.join(root, path), os.path.join(new, path))
        for path in _files_below(root)
        if not is_build_file(config, path) and not os.path.lexists(os.path.join(new, path))
    ]
    LOCAL.link_all(kept, instead=functools.partial(shutil.copy2, follow_symlinks=False))
    replace_folder(new, root)


def _files_below(root: str) -> Iterator[str]:
    """Yield every file and link below a local folder, hidden ones too, by relative path."""
    for folder, below, names in os.walk(root):
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(folder, name), root)


def is_build_file(config: BuildConfig, path: str) -> bool:
    """Whether builds write files of this path in the dataset's directory."""
    folder, _, name = path.rpartition("/")
    build_file = (
        rf"{re.escape(config.name)}-\w+\.tfrecord-\d{{5}}-of-\d{{5}}(\.gz)?(\.parquet|\.idx)?"
        r"|.*\.labels\.txt|dataset_info\.json|features\.json|label_map\.(pbtxt|csv)|schema\.pbtxt"
        rf"|report\.(html|json)|statistics\.json|croissant\.json|build\.json|{re.escape(metadata.FILE)}|(failed-)?{re.escape(REJECTS_FILE)}"
        r"|.*\.[0-9a-f]{32}\.partial"  # its writer was killed
    )
    return folder in FOLDERS and re.fullmatch(build_file, name) is not None


def is_committed(
    config: BuildConfig, files: Mapping[str, TemporaryFile], metadata_text: str
) -> bool:
    """Whether an earlier attempt at the same job has committed and begun its cleanup.

    Raises:
        DatasetExistsError: Another build has written another dataset in the meantime.
    """
    path = storage.join(config.dataset_dir, metadata.FILE)
    if not storage.exists(path):
        return False
    same = storage.read_text(path) == metadata_text
    if not config.overwrite:  # none existed when this build began
        if same:
            return True
        raise made_meanwhile(config)
    if not same:
        return False
    paths = [file.path for file in files.values()]
    return None in storage.sizes(paths) or not storage.is_directory(working_dir(config))
