"""Trains Keras models from TFRecord datasets; this package never imports Apache Beam.

    import trainer

    dataset = trainer.open("data/cells")
    for images, labels in dataset.batches("train", image_size=64, target="label"):
        ...

TensorFlow is imported when `open` or `Dataset` is first used, not by `import trainer`.
"""

from typing import TYPE_CHECKING

from trainer.errors import (
    CheckpointError,
    ConfigError,
    DatasetChangedError,
    DatasetDamagedError,
    InterruptedRunError,
    NotADatasetError,
    RunDamagedError,
    RunExistsError,
    TrainerError,
    TrainingDivergedError,
    UnknownNameError,
    UntrustedRunError,
)

__all__ = [
    "CheckpointError",
    "ConfigError",
    "Dataset",
    "DatasetChangedError",
    "DatasetDamagedError",
    "Feature",
    "ImageCache",
    "InterruptedRunError",
    "Metric",
    "Model",
    "NotADatasetError",
    "Run",
    "RunDamagedError",
    "RunExistsError",
    "Split",
    "TrainerError",
    "TrainingDivergedError",
    "UnknownNameError",
    "UntrustedRunError",
    "Views",
    "evaluate",
    "export",
    "open",
    "open_run",
    "predict",
    "train",
]

if TYPE_CHECKING:
    from tfrecord_dataset.format.feature import Feature
    from tfrecord_dataset.records.contents import Split
    from trainer.api import evaluate, predict, train
    from trainer.dataset import Dataset
    from trainer.dataset.opening import open
    from trainer.exporting import export
    from trainer.image_cache import ImageCache
    from trainer.metrics import Metric
    from trainer.model import Model
    from trainer.runs.trained import Run, open_run
    from trainer.views import Views

    __version__: str
else:  # hidden from type checkers, which would accept any name
    import importlib

    _MODULE_OF = {
        "Dataset": "trainer.dataset",
        "Feature": "tfrecord_dataset.format.feature",
        "ImageCache": "trainer.image_cache",
        "Metric": "trainer.metrics",
        "Model": "trainer.model",
        "Run": "trainer.runs.trained",
        "Split": "tfrecord_dataset.records.contents",
        "Views": "trainer.views",
        "evaluate": "trainer.api",
        "export": "trainer.exporting",
        "open": "trainer.dataset.opening",
        "open_run": "trainer.runs.trained",
        "predict": "trainer.api",
        "train": "trainer.api",
    }

    def __getattr__(name):
        if name == "__version__":
            return importlib.import_module("tfrecord_dataset.command_line").version()
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'trainer' has no attribute {name!r}")
        startup = importlib.import_module("trainer.startup")
        with startup.importing(hides_sklearn=False):
            module = importlib.import_module(_MODULE_OF[name])
        return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
