"""Atomic checkpoints of a run's weights, optimizer and position."""

from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from trainer.errors import CheckpointError, RunDamagedError
from trainer.training import checkpoint_files

_NUM_KEPT = 3


class Checkpoints:
    """The latest checkpoints of a run.

    The number of steps defines the position in the data: the order is a function of the seed. The
    sums are those of the epoch's metrics so far. Only one of several workers writes; `say` receives
    messages about damaged checkpoints.
    """

    def __init__(
        self,
        directory: Path,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        num_sums: int = 1,
        writes: bool = True,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._directory = directory
        self._writes = writes
        self._say = say
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._sums = tf.Variable([0.0] * num_sums, dtype=tf.float64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=model, optimizer=optimizer, step=self._step, sums=self._sums
        )

    def save(self, step: int, sums: Sequence[float]) -> None:
        """Save a checkpoint atomically and wait until it is on disk, then delete old ones."""
        if not self._writes:
            return
        self._step.assign(step)
        self._sums.assign(sums)
        with checkpoint_files.writing(self._directory, step) as prefix:
            self._checkpoint.write(prefix)
        steps = checkpoint_files.steps_in(self._directory)
        kept = [each for each in steps if each <= step][:_NUM_KEPT]
        for each in steps:
            if each not in kept:  # later steps are damaged and will be saved again
                checkpoint_files.delete(self._directory, each)

    def restore(self) -> tuple[int, list[float]]:
        """Restore the newest intact checkpoint.

        Returns:
            The completed steps, and the sums of the epoch so far: 0 and zeros without a checkpoint.

        Raises:
            CheckpointError: The checkpoint is of another model.
            RunDamagedError: All checkpoints are damaged.
        """
        if self._writes:
            checkpoint_files.delete_unfinished(self._directory)
        damaged: list[str] = []
        for step in checkpoint_files.steps_in(self._directory):
            reason = checkpoint_files.damage(self._directory, step) or self._read(step)
            if reason is None:
                if damaged:
                    self._say(f"damaged: {'; '.join(damaged)}; continuing from step {step}")
                return int(self._step.numpy()), self._sums.numpy().tolist()
            damaged.append(f"checkpoint {self._directory / f'step-{step}'} ({reason})")
        if damaged:
            raise RunDamagedError(
                f"no intact checkpoint: {'; '.join(damaged)}; copy one back, or train again with "
                "--overwrite"
            )
        return 0, self._sums.numpy().tolist()

    def _read(self, step: int) -> str | None:
        """Restore a checkpoint; return why its files cannot be read, or None."""
        prefix = checkpoint_files.prefix(self._directory, step)
        try:
            self._checkpoint.read(prefix).assert_consumed()
        except (AssertionError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint {prefix} belongs to another model: {_first_line(error)}; pass the "
                "same model, or train again with --overwrite"
            ) from error
        except Exception as error:  # TensorFlow raises various types for unreadable files
            return _first_line(error)
        stated = int(self._step.numpy())
        return None if stated == step else f"it has step {stated}"


def _first_line(error: Exception) -> str:
    """Return the first line of the message; values of variables may follow it."""
    text = getattr(error, "message", str(error))
    return text.partition("\n")[0].partition(" Target variable:")[0].rstrip(".")
