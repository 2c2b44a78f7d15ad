"""The files of a run, as tests change them."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np

from trainer.runs.directory import sealed

# The commands that use a run.
COMMANDS = ("resume", "evaluate", "predict", "export")
# What config.json holds besides its options, of a run that nothing was trained in.
UNTRAINED: dict[str, Any] = {
    "data": {},
    "window": 64,
    "class_weights": [],
    "own": {},
}


def weights_of(run: Path) -> Any:
    """All weights of a run's model, one after the other."""
    model = keras.models.load_model(run / "model.keras", compile=False)
    return np.concatenate([np.ravel(weight) for weight in model.get_weights()])


def unsealed(file: Path) -> dict[str, Any]:
    """What config.json or task.json holds, without its checksum."""
    record: dict[str, Any] = json.loads(file.read_text())
    for name in ("format_version", "checksum"):
        del record[name]
    return record


def seal(file: Path, record: dict[str, Any]) -> None:
    """Writes config.json or task.json, which may be somebody else's, with its checksum."""
    file.write_bytes(sealed(record))
