"""The files of checkpoints: each checkpoint is a folder `step-<steps>`, with checksums.

It is written under another name, its checksums last, and has its own name once all of it is on
disk. What a folder states is believed as far as its checksums agree.

Runs of older versions have files `step-<steps>.index` and `.data-…` in place of folders, and no
checksums of theirs; TensorFlow's own are in them.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tfrecord_dataset import durable
from tfrecord_dataset.json_file import JsonError, read_object, typed
from tfrecord_dataset.regular_files import opened, sha256_of

_CHECKSUMS = "checksums.json"
_STATE = "state"
_OF_STEP = re.compile(r"step-(0|[1-9]\d{0,17})(\.index|\.data-\d{5}-of-\d{5})?", re.ASCII)
_UNFINISHED = re.compile(r"\.unfinished-.*|step-\d+_temp")
_OF_TENSORFLOW = "checkpoint"  # in runs of older versions, names the newest


def steps_in(directory: Path) -> list[int]:
    """The steps of the checkpoints, whole or damaged, the newest first."""
    found = (_OF_STEP.fullmatch(each.name) for each in _entries(directory))
    return sorted({int(each[1]) for each in found if each}, reverse=True)


def prefix(directory: Path, step: int) -> str:
    """The path of a checkpoint, as TensorFlow has it, without what its files add to it."""
    folder = _folder(directory, step)
    return os.fspath(folder / _STATE if folder.exists() else folder)


@contextlib.contextmanager
def writing(directory: Path, step: int) -> Iterator[str]:
    """The path for a checkpoint, as TensorFlow has it; the checkpoint counts afterwards."""
    delete_unfinished(directory)
    durable.make_folders(os.fspath(directory))
    new = directory / f".unfinished-{step}"
    new.mkdir()
    yield os.fspath(new / _STATE)
    checksums = {file.name: sha256_of(file) for file in sorted(new.iterdir())}
    (new / _CHECKSUMS).write_text(json.dumps(checksums, indent=2) + "\n")
    durable.sync_tree(os.fspath(new))
    delete(directory, step)  # one that is damaged, or it would have been gone on from
    durable.rename(os.fspath(new), os.fspath(_folder(directory, step)))


def damage(directory: Path, step: int) -> str | None:
    """What is wrong with the files of a checkpoint, in words; None if they are whole."""
    folder = _folder(directory, step)
    try:
        if folder.exists():
            return _damage_of_folder(folder)
        files = _files_without_folder(directory, step)
        for file in files:
            with opened(file):
                pass
        has_index = any(file.suffix == ".index" for file in files)
        return None if has_index and len(files) > 1 else "one of its two files is missing"
    except OSError as error:
        return f"{Path(error.filename or folder).name} cannot be read: {error.strerror}"


def _damage_of_folder(folder: Path) -> str | None:
    try:
        checksums = typed(read_object(folder / _CHECKSUMS), dict[str, str])
    except FileNotFoundError:
        return f"{_CHECKSUMS} is missing"
    except JsonError as error:
        return f"{_CHECKSUMS}: {error}"
    names = {file.name for file in folder.iterdir()} - {_CHECKSUMS}
    for name in sorted({f"{_STATE}.index"} | names | checksums.keys()):
        if name not in names:
            return f"{name} is missing"
        if sha256_of(folder / name) != checksums.get(name):
            return f"{name} does not have the checksum in {_CHECKSUMS}"
    return None


def delete(directory: Path, step: int) -> None:
    """Deletes the files of a checkpoint, of which no part keeps its name."""
    folder = _folder(directory, step)
    if folder.exists():
        gone = directory / f".unfinished-{step}-gone"
        os.replace(folder, gone)
        _remove(gone)
    for file in _files_without_folder(directory, step):
        _remove(file)
        _remove(directory / _OF_TENSORFLOW)


def delete_unfinished(directory: Path) -> None:
    """Deletes what a killed run left of checkpoints that it was writing, or deleting."""
    for each in _entries(directory):
        if _UNFINISHED.fullmatch(each.name):
            _remove(each)


def _folder(directory: Path, step: int) -> Path:
    return directory / f"step-{step}"


def _files_without_folder(directory: Path, step: int) -> list[Path]:
    return [each for each in _entries(directory) if each.name.startswith(f"step-{step}.")]


def _entries(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
