"""Files of checkpoints: one folder `step-<steps>` per checkpoint, with checksums.

A folder is written under a temporary name, checksums last, and renamed once it is on disk. A
folder with wrong checksums is not used.
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
from tfrecord_dataset.regular_files import sha256_of

_CHECKSUMS = "checksums.json"
_STATE = "state"
_OF_STEP = re.compile(r"step-(0|[1-9]\d{0,17})", re.ASCII)
_UNFINISHED = ".unfinished-"


def steps_in(directory: Path) -> list[int]:
    """Steps of the checkpoints, intact or damaged, newest first."""
    matches = (_OF_STEP.fullmatch(entry.name) for entry in _entries(directory))
    return sorted((int(each[1]) for each in matches if each), reverse=True)


def prefix(directory: Path, step: int) -> str:
    """Path prefix of a checkpoint's files for TensorFlow."""
    return os.fspath(_folder(directory, step) / _STATE)


@contextlib.contextmanager
def writing(directory: Path, step: int) -> Iterator[str]:
    """Yield the path prefix of a new checkpoint, which becomes valid after the context."""
    delete_unfinished(directory)
    durable.make_folders(os.fspath(directory))
    new = directory / f"{_UNFINISHED}{step}"
    new.mkdir()
    yield os.fspath(new / _STATE)
    checksums = {file.name: sha256_of(file) for file in sorted(new.iterdir())}
    (new / _CHECKSUMS).write_text(json.dumps(checksums, indent=2) + "\n")
    durable.sync_tree(os.fspath(new))
    delete(directory, step)  # damaged, since training did not continue from it
    durable.rename(os.fspath(new), os.fspath(_folder(directory, step)))


def damage(directory: Path, step: int) -> str | None:
    """Describe the damage to a checkpoint's files; None if they are intact."""
    folder = _folder(directory, step)
    try:
        checksums = typed(read_object(folder / _CHECKSUMS), dict[str, str])
        names = {file.name for file in folder.iterdir()} - {_CHECKSUMS}
        for name in sorted({f"{_STATE}.index"} | names | checksums.keys()):
            if name not in names:
                return f"{name} is missing"
            if sha256_of(folder / name) != checksums.get(name):
                return f"{name} does not have the checksum in {_CHECKSUMS}"
    except FileNotFoundError:
        return f"{_CHECKSUMS} is missing"
    except JsonError as error:
        return f"{_CHECKSUMS}: {error}"
    except OSError as error:
        return f"{Path(error.filename or folder).name} cannot be read: {error.strerror}"
    return None


def delete(directory: Path, step: int) -> None:
    """Delete a checkpoint's folder, renamed first so that no partial one remains."""
    folder = _folder(directory, step)
    if folder.exists():
        gone = directory / f"{_UNFINISHED}{step}-gone"
        os.replace(folder, gone)
        _remove(gone)


def delete_unfinished(directory: Path) -> None:
    """Delete the leftovers of a killed run's saves and deletions."""
    for entry in _entries(directory):
        if entry.name.startswith(_UNFINISHED):
            _remove(entry)


def _folder(directory: Path, step: int) -> Path:
    return directory / f"step-{step}"


def _entries(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
