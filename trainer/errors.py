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

Every message names the value, where it came from, and the remedy.
"""

import difflib
from collections.abc import Iterable

from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.errors import ConfigError as ConfigError
from tfrecord_dataset.errors import DatasetChangedError as DatasetChangedError
from tfrecord_dataset.errors import DatasetDamagedError as DatasetDamagedError

# Base of every error this package raises on purpose: that of all three packages.
TrainerError = BeamTFRecordsError


class UnknownNameError(ConfigError):
    """A name that does not exist; the message suggests the nearest one and lists them all.

    Args:
        what: What the name stands for, such as "split" or "feature".
        name: The name that does not exist.
        choices: The existing names.
    """

    def __init__(self, what: str, name: str, choices: Iterable[str]) -> None:
        known = list(choices)
        super().__init__(
            f"there is no {what} {name!r}{did_you_mean(name, known)}; "
            f"there {'is' if len(known) == 1 else 'are'}: {', '.join(known) or 'none at all'}"
        )


class NotADatasetError(ConfigError):
    """The path holds no finished dataset."""


class RunExistsError(ConfigError):
    """The output directory already holds a training run."""


class UntrustedRunError(ConfigError):
    """A run names code, or other places, that nobody has named or trusted."""


class RunDamagedError(TrainerError):
    """A file of a run cannot be read, or is not what was written."""

    exit_code = 3


class CheckpointError(TrainerError):
    """A checkpoint is of another model."""


class TrainingDivergedError(TrainerError):
    """The loss became infinite or not a number."""


class InterruptedRunError(TrainerError):
    """A signal ended the training; the run is saved."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """` (did you mean 'train'?)` for the nearest choice, or "" if none is near."""
    near = difflib.get_close_matches(str(name), list(choices), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
