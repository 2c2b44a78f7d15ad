"""What can go wrong, as a tree; the commands turn each branch into an exit code.

    TrainerError                 exit 1  the job failed
    ├── ConfigError              exit 2  wrong usage; nothing was written
    │   ├── UnknownNameError             a split, feature, task … that does not exist
    │   ├── NotADatasetError             no finished dataset at the path
    │   ├── RunExistsError               the output already holds a run
    │   └── UntrustedRunError            a run names code that the command does not
    ├── DatasetDamagedError      exit 3  a dataset is not what its metadata says
    ├── DatasetChangedError              a dataset was replaced while it was read
    ├── RunDamagedError          exit 3  a file of a run is not what was written
    ├── CheckpointError                  a checkpoint is of another model
    ├── TrainingDivergedError            the loss is no longer finite
    └── InterruptedRunError              a signal ended the training, which is saved

Every message names the value, its origin and the remedy.
"""

from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.errors import ConfigError as ConfigError
from tfrecord_dataset.errors import DatasetChangedError as DatasetChangedError
from tfrecord_dataset.errors import DatasetDamagedError as DatasetDamagedError
from tfrecord_dataset.errors import NotADatasetError as NotADatasetError
from tfrecord_dataset.errors import UnknownNameError as UnknownNameError
from tfrecord_dataset.errors import did_you_mean as did_you_mean

# Base of every error this package raises on purpose: that of all three packages.
TrainerError = BeamTFRecordsError


class RunExistsError(ConfigError):
    """The output directory already holds a training run."""


class UntrustedRunError(ConfigError):
    """A run names code or places that the command does not name."""


class RunDamagedError(TrainerError):
    """A file of a run cannot be read, or is not what was written."""

    exit_code = 3


class CheckpointError(TrainerError):
    """A checkpoint is of another model."""


class TrainingDivergedError(TrainerError):
    """The loss became infinite or not a number."""


class InterruptedRunError(TrainerError):
    """A signal ended the training; the run is saved."""
