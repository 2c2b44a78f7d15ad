"""What a run states of itself, in config.json and task.json: checked before it is believed."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfrecord_dataset import regular_files, sealed_json
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.json_file import parse_object, typed
from trainer.errors import RunDamagedError
from trainer.options.train import TrainConfig

_FORMAT_VERSION = 2
_MAX_BYTES = 1 << 28
_COPY_BACK = "copy it back, or train again with --overwrite"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What decides the order of a run's records besides its seed.

    Attributes:
        window: Records that are shuffled among themselves.
        stored_size: (height, width) of decoded images that are kept, where crops are taken of
            them; else None.
    """

    window: int
    stored_size: ImageSize | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """config.json, as far as a run is continued and used by it.

    Attributes:
        options: Of the command that started or continued it.
        data: The identity of the training data, by name.
        order: Of the records.
        class_weights: In the training loss; none where all are 1.
        weights: (path, shape) of each of the model's.
        own: Names of the user's loss, optimizer and augmentation, where the run has them.
    """

    options: TrainConfig
    data: Mapping[str, Any]
    order: Order
    class_weights: tuple[float, ...]
    weights: tuple[tuple[str, tuple[int, ...]], ...]
    own: Mapping[str, str]


_OPTIONS = {field.name for field in dataclasses.fields(TrainConfig)}
_FIELDS = {field.name for field in dataclasses.fields(RunConfig)}


def sealed(record: Mapping[str, Any]) -> bytes:
    """The text of config.json or task.json, as UTF-8, with its checksum."""
    return sealed_json.sealed({"format_version": _FORMAT_VERSION, **record}).encode()


def read_sealed(file: Path, remedy: str = _COPY_BACK) -> dict[str, Any]:
    """The object in config.json, task.json or report.json.

    Args:
        file: Its path.
        remedy: What to do about a damaged one.

    Raises:
        FileNotFoundError: There is no such file.
        RunDamagedError: It cannot be read, or is not what was written.
    """
    try:
        data = regular_files.read(file, _MAX_BYTES)
        record = parse_object(data)
        sealed_json.check_seal(data)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise damaged(file, error, remedy) from error
    return record


def run_config(record: Mapping[str, Any]) -> RunConfig:
    """The object of config.json, checked.

    Raises:
        JsonError, ConfigError: It is no such object.
    """
    stated = {name: value for name, value in record.items() if name in _FIELDS}
    options = stated.get("options")
    if isinstance(options, dict):  # a later version has more of them
        stated["options"] = {name: value for name, value in options.items() if name in _OPTIONS}
    config: RunConfig = typed(stated, RunConfig)
    return config


def damaged(file: Path, error: Exception, remedy: str = _COPY_BACK) -> RunDamagedError:
    """The error of a run's file that cannot be read, or is not what was written."""
    reason = error.strerror if isinstance(error, OSError) else error
    return RunDamagedError(f"{file} is damaged: {reason}; {remedy}")
