"""Models in .keras files, which may be damaged, or somebody else's: nothing in them is executed."""

import zipfile
from pathlib import Path

import keras

from tfrecord_dataset import regular_files
from tfrecord_dataset.inner_paths import inner_path
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.runs.record import damaged
from trainer.tasks import Task, models
from trainer.tasks.inputs import keras_inputs

_REMEDY = "copy it back, or let its training write it again: `python -m trainer train --resume`"
# What Keras's messages put before and behind the reason: a whole configuration, and how to let
# somebody else's code run.
_BEFORE = "Exception encountered: "
_BEHIND = ("Full object config: ", "If you trust the source", "Make sure custom classes")
_LONGEST = 300


def load(file: Path, task: Task, remedy: str) -> keras.Model:
    """The model of a run, in Keras's safe mode.

    Args:
        file: A .keras file.
        task: What it was trained for.
        remedy: Where Keras refuses it.

    Raises:
        RunDamagedError: The file is not as Keras wrote it.
        ConfigError: Keras refuses it, or it does not fit the task.
    """
    check(file)
    try:
        model = keras.models.load_model(file, compile=False, safe_mode=True)
    except Exception as error:  # whatever Keras raises of what somebody has put together
        raise ConfigError(f"{file} cannot be loaded: {_reason(error)}; {remedy}") from error
    models.outputs_of(model, keras_inputs(task.inputs), task, str(file))
    return model


def check(file: Path) -> None:
    """Raises RunDamagedError unless a file is a zip archive, whole, as Keras writes them."""
    try:
        with regular_files.opened(file) as handle, zipfile.ZipFile(handle) as archive:
            _check_names(archive)
            num_bytes = sum(part.file_size for part in archive.infolist())
            if num_bytes > file.stat().st_size:
                raise ValueError(f"its parts have {num_bytes:,} bytes, more than the file itself")
            if (part := archive.testzip()) is not None:
                raise ValueError(f"the checksum of its part {part} is wrong")
    except Exception as error:  # whatever zipfile raises of what somebody has put together
        raise damaged(file, error, _REMEDY) from error


def _check_names(archive: zipfile.ZipFile) -> None:
    for name in archive.namelist():
        try:
            inner_path(name.removesuffix("/"), "a part")
        except DatasetDamagedError as error:
            raise ValueError(f"it has a part for another place, {name!r}") from error


def _reason(error: Exception) -> str:
    text = str(error).rpartition(_BEFORE)[2]
    for behind in _BEHIND:
        text = text.partition(behind)[0]
    text = " ".join(text.split())
    return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…").rstrip(".")
