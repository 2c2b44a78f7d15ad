"""What may be tuned on a machine without a change to the records, their order or their values."""

import dataclasses
import os
from typing import Any, Self

from tfrecord_dataset.json_file import JsonError, read_object
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train import CACHES

# More would fill the memory, and make nothing faster.
_MOST = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings of the input pipeline.

        >>> tuning = trainer.Tuning(prefetch=4)
        >>> batches = trainer.open("data/cells").batches("train", image_size=16, tuning=tuning)

    Attributes:
        parallel_calls: Records that are decoded, or wait for their batch; None for
            `usual_parallel_calls`, which TensorFlow's own choice reaches after a while only.
        prefetch: Batches that wait for the training; None leaves it to TensorFlow.
        cycle_length: Runs of records that are read at once; None for 16.
        cache: Where decoded images are kept, as by `--cache`.

    Raises:
        ConfigError: A setting is not a whole number from 1 on.
        UnknownNameError: There is no such cache.
    """

    parallel_calls: int | None = None
    prefetch: int | None = None
    cycle_length: int | None = None
    cache: str | None = None

    def __post_init__(self) -> None:
        for name in ("parallel_calls", "prefetch", "cycle_length"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value <= _MOST):
                raise ConfigError(f"{name}={value!r}: give a whole number from 1 to {_MOST:,}")
        if self.cache is not None and self.cache not in CACHES:
            raise UnknownNameError("cache", self.cache, CACHES)

    @property
    def num_calls(self) -> int:
        """`parallel_calls`, or the usual number."""
        return self.parallel_calls or usual_parallel_calls()

    @classmethod
    def read(cls, path: str) -> Self:
        """The settings in a JSON file, as `python -m trainer tune` writes it.

        Raises:
            ConfigError: It cannot be read, or has something that may not be tuned.
        """
        try:
            settings = read_object(path)
        except (OSError, JsonError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(
                f"--tuning {path} cannot be used: {reason}; `python -m trainer tune` writes such a "
                "file"
            ) from error
        known = [field.name for field in dataclasses.fields(cls)]
        for name in settings:
            if name not in known:
                raise UnknownNameError("setting", name, known, path)
        return cls(**settings)

    def to_json(self) -> dict[str, Any]:
        """The settings that are not None, by name."""
        return {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }


def usual_parallel_calls() -> int:
    """One record for each CPU, and as many again that wait while a batch is put together."""
    return 2 * cpu_count()


def cpu_count() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
