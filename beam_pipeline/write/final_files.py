"""The dataset's directory at the commit: the new dataset takes the older one's place.

That is on this machine. On a store shards are in their places by then, and no older dataset is.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.write.claim import made_meanwhile
from beam_pipeline.write.rejects import REJECTS_FILE
from beam_pipeline.write.working_directory import new_dataset_dir, working_dir
from tfrecord_dataset.replacement import replace_folder, restore_folder

# Of the dataset's directory, with files that builds write.
FOLDERS = ("", "index", "idx")


def make_dataset(
    config: BuildConfig,
    files: Mapping[str, TemporaryFile],
    write_descriptions: Callable[[str], None],
) -> None:
    """Makes the files and what describes them the dataset; repeated, it goes on.

    Local files: the new dataset is made whole beside the older one, and takes its place in one
    step. On a store metadata.json makes it one, which is written last.

    Args:
        config: The build's.
        files: Finished files, by path in the dataset's directory.
        write_descriptions: Writes all other files into a directory, metadata.json last.

    Raises:
        FileNotFoundError: A file is gone.
        FileExistsError: Another build's object is in the place of one.
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
    LOCAL.place_all([(file.path, os.path.join(new, final)) for final, file in files.items()])
    write_descriptions(new)
    LOCAL.keep_all(
        [
            (os.path.join(root, path), os.path.join(new, path))
            for path in _files_below(root)
            if not is_build_file(config, path) and not os.path.lexists(os.path.join(new, path))
        ]
    )
    replace_folder(new, root)


def _files_below(root: str) -> Iterator[str]:
    """Every file and link below a local folder, hidden ones too, by its path in it."""
    for folder, below, names in os.walk(root):
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(folder, name), root)


def is_build_file(config: BuildConfig, path: str) -> bool:
    """Whether a file of this path in the dataset's directory is one that builds write."""
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
    """Whether an earlier attempt of the same job has committed, and begun to tidy up.

    Raises:
        DatasetExistsError: Another build has made another dataset meanwhile.
    """
    path = storage.join(config.dataset_dir, metadata.FILE)
    if not storage.exists(path):
        return False
    same = storage.read_text(path) == metadata_text
    if not config.overwrite:  # there was none when this build began
        if same:
            return True
        raise made_meanwhile(config)
    if not same:
        return False
    paths = [file.path for file in files.values()]
    return None in storage.sizes(paths) or not storage.is_directory(working_dir(config))
