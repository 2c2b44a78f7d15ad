"""Reads and changes the files of a run."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np

from trainer.runs.directory import sealed

# The commands that use a run.
COMMANDS = ("resume", "evaluate", "predict", "export")
# Content of an untrained run's config.json, without its options.
UNTRAINED: dict[str, Any] = {
    "data": {},
    "window": 64,
    "class_weights": [],
    "own": {},
}


def weights_of(run: Path) -> Any:
    """Return all weights of a run's model as one array."""
    model = keras.models.load_model(run / "model.keras", compile=False)
    return np.concatenate([np.ravel(weight) for weight in model.get_weights()])


def unsealed(file: Path) -> dict[str, Any]:
    """Read config.json or task.json without its checksum."""
    record: dict[str, Any] = json.loads(file.read_text())
    for name in ("format_version", "checksum"):
        del record[name]
    return record


def seal(file: Path, record: dict[str, Any]) -> None:
    """Write config.json or task.json, perhaps a manipulated one, with its checksum."""
    file.write_bytes(sealed(record))
