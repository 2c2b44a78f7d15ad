"""The dataset's directory at the commit: the new dataset takes the older one's place.

On a store a commit copies each file, three a shard, and workers share that. One worker takes the
dataset's lease and decides what goes where; others copy, a batch each, under the same lease; the
commit takes it over and does the rest. Where the lease was lost on the way, the commit moves all by
itself. It gives the lease back once the finished shards are deleted, so that a worker whom the
runner took for dead, and whose batch another one has copied, finds nothing to copy.
"""

import errno
import os
import re
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.errors import DatasetExistsError
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.write.rejects import REJECTS_FILE
from beam_pipeline.write.working_directory import (
    new_dataset_dir,
    shared_commit_lease,
    working_dir,
)
from tfrecord_dataset.replacement import replace_folder, restore_folder

# Of the dataset's directory, with files that builds write.
FOLDERS = ("", "index", "idx")

Place = tuple[str, str]
"""Where a file lies, and where it goes."""

# Of a store that takes 50 ms, 64 at once: some 0.4 s, where to join a lease takes 0.15 s.
FILES_A_BATCH = 500


class Moves(NamedTuple):
    """A batch of moves.

    Attributes:
        lease: The owner of the lease under which they are made.
        places: Where each file lies, and where it goes.
    """

    lease: str
    places: list[Place]


def replace_dataset(
    config: BuildConfig,
    files: Mapping[str, TemporaryFile],
    write_descriptions: Callable[[str], None],
    moved: Collection[Place] = (),
) -> None:
    """Makes the files and what describes them the dataset; repeated, it goes on.

    Local files: the new dataset is made whole beside the older one, and takes its place in one
    step. On a store, which has no such step, the older one stays until copies have to go over
    its files; then it is none until the new metadata.json is there.

    Args:
        config: The build's.
        files: Finished files, by path in the dataset's directory.
        write_descriptions: Writes all other files into a directory, metadata.json last.
        moved: Of `move`, what is where it goes.

    Raises:
        FileNotFoundError: A file is gone.
    """
    if storage.is_remote(config.dataset_dir):
        _replace_objects(config, files, write_descriptions, moved)
    else:
        _replace_folder(config, files, write_descriptions)


def _replace_folder(
    config: BuildConfig,
    files: Mapping[str, TemporaryFile],
    write_descriptions: Callable[[str], None],
) -> None:
    new, root = new_dataset_dir(config), config.dataset_dir
    restore_folder(new, root)
    storage.delete([new])
    storage.place_all(_places(files, new))
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


def shared_moves(config: BuildConfig, files: Mapping[str, TemporaryFile]) -> Iterator[Moves]:
    """What workers are to move: one batch at least, if the lease was taken.

    Args:
        config: The build's.
        files: Finished files, by path in the dataset's directory. Few are not worth sharing, nor
            are links of local files.
    """
    if len(files) <= 2 * FILES_A_BATCH or not storage.is_remote(config.dataset_dir):
        return
    owner = uuid.uuid4().hex
    with shared_commit_lease(config, owner, joins=False):
        places = _share_of_workers(config, files)
    for start in range(0, max(1, len(places)), FILES_A_BATCH):
        yield Moves(owner, places[start : start + FILES_A_BATCH])


def move(config: BuildConfig, moves: Moves) -> Moves:
    """Moves a batch; repeated, it does so again. Returns what was moved: nothing without a lease.

    Raises:
        BeamTFRecordsError: The lease was lost meanwhile.
        FileNotFoundError: A file is gone.
    """
    with shared_commit_lease(config, moves.lease, joins=True) as is_held:
        if not is_held:
            return moves._replace(places=[])
        storage.place_all(moves.places)
    return moves


def _share_of_workers(config: BuildConfig, files: Mapping[str, TemporaryFile]) -> list[Place]:
    """What many workers may move before `replace_dataset` does the rest, on a store.

    That are files that go over none of the older dataset, or, where they are more, those that do;
    then all that comes before is done.
    """
    places, there = _places(files, config.dataset_dir), _objects_there(config)
    stays = not config.overwrite and storage.exists(storage.join(config.dataset_dir, metadata.FILE))
    if stays or _missing(config, places):  # the commit will see what that means
        return []
    over_none = [place for place in places if place[1] not in there]
    if 2 * len(over_none) >= len(places):
        return over_none
    return _make_way(config, places, there)


def _replace_objects(
    config: BuildConfig,
    files: Mapping[str, TemporaryFile],
    write_descriptions: Callable[[str], None],
    moved: Collection[Place],
) -> None:
    places, there = _places(files, config.dataset_dir), _objects_there(config)
    left = [place for place in places if place not in moved]
    storage.place_all(_make_way(config, left, there))
    storage.delete_all(there - {final for _, final in places})
    write_descriptions(config.dataset_dir)


def _make_way(config: BuildConfig, places: Sequence[Place], there: Collection[str]) -> list[Place]:
    """Moves what goes over nothing, and makes an end of the older dataset.

    Returns what goes over its files.
    """
    over = [place for place in places if place[1] in there]
    storage.place_all(place for place in places if place[1] not in there)
    if missing := _missing(config, over):  # before any of the others makes way for it
        raise FileNotFoundError(errno.ENOENT, "Another build deleted a finished shard", missing)
    storage.delete([storage.join(config.dataset_dir, metadata.FILE)])
    return over


def _objects_there(config: BuildConfig) -> set[str]:
    """The files of the dataset's directory that builds write, on a store."""
    root = config.dataset_dir
    return {
        storage.join(root, path)
        for folder in FOLDERS
        for name in storage.list_dir(storage.join(root, folder))
        if is_build_file(config, path := f"{folder}/{name}".lstrip("/"))
    }


def _missing(config: BuildConfig, places: Sequence[Place]) -> str:
    """A file that is gone; "" where all are there."""
    if not places:
        return ""
    there = {file.path for file in storage.list_files(working_dir(config))}
    unseen = [path for path, _ in places if path not in there]  # an empty one may be unlisted
    sizes = zip(unseen, storage.sizes(unseen), strict=True)
    return next((path for path, size in sizes if size is None), "")


def _places(files: Mapping[str, TemporaryFile], folder: str) -> list[Place]:
    return [(file.path, storage.join(folder, final)) for final, file in files.items()]


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
        raise DatasetExistsError(
            f"another build has made {config.dataset_dir} meanwhile; pass --overwrite to replace "
            "it (finished shards are taken), or another --name, --version or --output"
        )
    if not same:
        return False
    paths = [file.path for file in files.values()]
    return None in storage.sizes(paths) or not storage.is_directory(working_dir(config))
