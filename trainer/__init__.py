"""Trains Keras models from TFRecord datasets; this package never imports Apache Beam.

    import trainer

    dataset = trainer.open("data/cells")
    for images, labels in dataset.batches("train", image_size=64, target="label"):
        ...

TensorFlow is imported when `open` or `Dataset` is first used, not by `import trainer`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from trainer.errors import (
    CheckpointError,
    ConfigError,
    DatasetDamagedError,
    NotADatasetError,
    RunExistsError,
    TrainerError,
    TrainingDivergedError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from trainer.dataset import Dataset, Split
    from trainer.features import Feature
    from trainer.opening import open

__all__ = [
    "CheckpointError",
    "ConfigError",
    "Dataset",
    "DatasetDamagedError",
    "Feature",
    "NotADatasetError",
    "RunExistsError",
    "Split",
    "TrainerError",
    "TrainingDivergedError",
    "UnknownNameError",
    "open",
]

_MODULE_OF = {
    "Dataset": "trainer.dataset",
    "Feature": "trainer.features",
    "Split": "trainer.dataset",
    "open": "trainer.opening",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'trainer' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)
