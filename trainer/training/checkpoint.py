"""Atomic checkpoints of a run's weights, optimizer and position.

A checkpoint is a folder `step-<steps>`, written under a temporary name, checksums last, and renamed
once it is on disk. A folder with wrong checksums is not used.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from tfrecord_dataset import durable
from tfrecord_dataset.json_file import JsonError, read_object, typed
from tfrecord_dataset.regular_files import sha256_of
from trainer.errors import CheckpointError, RunDamagedError

_CHECKSUMS = "checksums.json"
_STATE = "state"
_OF_STEP = re.compile(r"step-(0|[1-9]\d{0,17})", re.ASCII)
_UNFINISHED = ".unfinished-"


def steps_in(directory: Path) -> list[int]:
    """Steps of the checkpoints, intact or damaged, newest first."""
    matches = (_OF_STEP.fullmatch(entry.name) for entry in directory.glob("step-*"))
    return sorted((int(each[1]) for each in matches if each), reverse=True)


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
    for entry in [*directory.glob(f"{_UNFINISHED}*")]:
        _remove(entry)


def _folder(directory: Path, step: int) -> Path:
    return directory / f"step-{step}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_NUM_KEPT = 3


class Checkpoints:
    """The latest checkpoints of a run.

    The number of steps defines the position in the data: the order is a function of the seed. The
    sums are those of the epoch's metrics so far. Only one of several workers writes; `say` receives
    messages about damaged checkpoints.
    """

    def __init__(
        self,
        directory: Path,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        num_sums: int = 1,
        writes: bool = True,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._directory = directory
        self._writes = writes
        self._say = say
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._sums = tf.Variable([0.0] * num_sums, dtype=tf.float64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=model, optimizer=optimizer, step=self._step, sums=self._sums
        )

    def save(self, step: int, sums: Sequence[float]) -> None:
        """Save a checkpoint atomically and wait until it is on disk, then delete old ones."""
        if not self._writes:
            return
        self._step.assign(step)
        self._sums.assign(sums)
        with writing(self._directory, step) as prefix:
            self._checkpoint.write(prefix)
        steps = steps_in(self._directory)
        kept = [each for each in steps if each <= step][:_NUM_KEPT]
        for each in steps:
            if each not in kept:  # later steps are damaged and will be saved again
                delete(self._directory, each)

    def restore(self) -> tuple[int, list[float]]:
        """Restore the newest intact checkpoint.

        Returns:
            The completed steps, and the sums of the epoch so far: 0 and zeros without a checkpoint.

        Raises:
            CheckpointError: The checkpoint is of another model.
            RunDamagedError: All checkpoints are damaged.
        """
        if self._writes:
            delete_unfinished(self._directory)
        damaged: list[str] = []
        for step in steps_in(self._directory):
            reason = damage(self._directory, step) or self._read(step)
            if reason is None:
                if damaged:
                    self._say(f"damaged: {'; '.join(damaged)}; continuing from step {step}")
                return int(self._step.numpy()), self._sums.numpy().tolist()
            damaged.append(f"checkpoint {self._directory / f'step-{step}'} ({reason})")
        if damaged:
            raise RunDamagedError(
                f"no intact checkpoint: {'; '.join(damaged)}; copy one back, or train again with "
                "--overwrite"
            )
        return 0, self._sums.numpy().tolist()

    def _read(self, step: int) -> str | None:
        """Restore a checkpoint; return why its files cannot be read, or None."""
        prefix = os.fspath(_folder(self._directory, step) / _STATE)
        try:
            self._checkpoint.read(prefix).assert_consumed()
        except (AssertionError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint {prefix} belongs to another model: {_first_line(error)}; pass the "
                "same model, or train again with --overwrite"
            ) from error
        except Exception as error:  # TensorFlow raises various types for unreadable files
            return _first_line(error)
        stated = int(self._step.numpy())
        return None if stated == step else f"it has step {stated}"


def _first_line(error: Exception) -> str:
    """Return the first line of the message; values of variables may follow it."""
    text = getattr(error, "message", str(error))
    return text.partition("\n")[0].partition(" Target variable:")[0].rstrip(".")
