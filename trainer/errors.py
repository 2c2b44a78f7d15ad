"""What can go wrong, as a tree; the commands turn each branch into an exit code.

    TrainerError                 exit 1  the job failed
    ├── ConfigError              exit 2  wrong usage; nothing was written
    │   ├── UnknownNameError             a split, feature, task … that does not exist
    │   ├── NotADatasetError             no finished dataset at the path
    │   └── RunExistsError               the output already holds a run
    ├── DatasetDamagedError      exit 3  a dataset is not what its metadata says
    ├── CheckpointError                  a checkpoint does not hold this model
    ├── TrainingDivergedError            the loss is no longer finite
    └── InterruptedRunError              a signal ended the training, which is saved

Every message names the value, where it came from, and the remedy.
"""

import difflib
from collections.abc import Iterable


class TrainerError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1


class ConfigError(TrainerError):
    """An option or argument cannot be used; nothing was written."""

    exit_code = 2


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


class DatasetDamagedError(TrainerError):
    """A dataset, or one of its files, is not what its metadata says."""

    exit_code = 3


class CheckpointError(TrainerError):
    """A checkpoint cannot be read, or is of another model."""


class TrainingDivergedError(TrainerError):
    """The loss became infinite or not a number."""


class InterruptedRunError(TrainerError):
    """A signal ended the training; the run is saved."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """` (did you mean 'train'?)` for the nearest choice, or "" if none is near."""
    near = difflib.get_close_matches(str(name), list(choices), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
