"""The tree of errors; commands map its branches to exit codes.

    TrainerError                 exit 1  the job failed
    ├── ConfigError              exit 2  wrong usage; nothing was written
    │   ├── UnknownNameError             a split, feature, task … that does not exist
    │   ├── NotADatasetError             no finished dataset at the path
    │   ├── RunExistsError               the output already contains a run
    │   └── UntrustedRunError            a run names code that the command does not
    ├── DatasetDamagedError      exit 3  a dataset contradicts its metadata
    ├── DatasetChangedError              a dataset was replaced during reading
    ├── RunDamagedError          exit 3  a file of a run was modified or damaged
    ├── CheckpointError                  a checkpoint is of another model
    ├── TrainingDivergedError            the loss is no longer finite
    └── InterruptedRunError              a signal ended the training; the run is saved

Every message names the value, its origin and the remedy.
"""

from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.errors import ConfigError as ConfigError
from tfrecord_dataset.errors import DatasetChangedError as DatasetChangedError
from tfrecord_dataset.errors import DatasetDamagedError as DatasetDamagedError
from tfrecord_dataset.errors import NotADatasetError as NotADatasetError
from tfrecord_dataset.errors import UnknownNameError as UnknownNameError
from tfrecord_dataset.errors import did_you_mean as did_you_mean

# Base of all errors that this package raises on purpose, shared by all three packages.
TrainerError = BeamTFRecordsError


class RunExistsError(ConfigError):
    """The output directory already contains a training run."""


def not_a_run(path: object, missing: str) -> ConfigError:
    """Return the error for a directory without a file of a run."""
    return ConfigError(f"{path} does not hold a run: it has no {missing}; check its path")


class UntrustedRunError(ConfigError):
    """A run names code or places that the command does not name."""


class RunDamagedError(TrainerError):
    """A file of a run cannot be read, or was modified or damaged."""

    exit_code = 3


class CheckpointError(TrainerError):
    """A checkpoint is of another model."""


class TrainingDivergedError(TrainerError):
    """The loss became infinite or not a number."""


class InterruptedRunError(TrainerError):
    """A signal ended the training; the run is saved."""
