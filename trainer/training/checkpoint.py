"""Weights, optimizer and position of a run, saved completely or not at all."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from trainer.errors import CheckpointError, RunDamagedError
from trainer.training import checkpoint_files


class Checkpoints:
    """The last few checkpoints of a run.

    The number of steps is the complete position in the data: the order is a function of the seed,
    and steps tell the records used. The sums are those of the epoch's metrics so far.

    Args:
        directory: The folder for them.
        model, optimizer: What is saved and restored.
        num_sums: Of an epoch's metrics.
        max_to_keep: Older ones are deleted once a new one is on disk.
        writes: Where several workers train, one does.
        say: Is told of damaged ones.
    """

    def __init__(
        self,
        directory: Path,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        num_sums: int = 1,
        max_to_keep: int = 3,
        writes: bool = True,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._directory = directory
        self._max_to_keep = max_to_keep
        self._writes = writes
        self._say = say
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._sums = tf.Variable([0.0] * num_sums, dtype=tf.float64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=model, optimizer=optimizer, step=self._step, sums=self._sums
        )

    def save(self, step: int, sums: Sequence[float]) -> None:
        """Saves a checkpoint, on disk and completely, or not at all; then deletes old ones."""
        if not self._writes:
            return
        self._step.assign(step)
        self._sums.assign(sums)
        with checkpoint_files.writing(self._directory, step) as prefix:
            self._checkpoint.write(prefix)
        steps = checkpoint_files.steps_in(self._directory)
        kept = [each for each in steps if each <= step][: self._max_to_keep]
        for each in steps:
            if each not in kept:  # those of later steps are damaged, and will be saved again
                checkpoint_files.delete(self._directory, each)

    def restore(self) -> tuple[int, list[float]]:
        """Restores the newest checkpoint that is whole.

        Returns:
            The steps done and the sums of the epoch so far: 0 and zeros without a checkpoint.

        Raises:
            CheckpointError: The checkpoint is of another model.
            RunDamagedError: All are damaged.
        """
        if self._writes:
            checkpoint_files.delete_unfinished(self._directory)
        damaged: list[str] = []
        for step in checkpoint_files.steps_in(self._directory):
            reason = checkpoint_files.damage(self._directory, step) or self._read(step)
            if reason is None:
                if damaged:
                    self._say(f"damaged: {'; '.join(damaged)}; going on from step {step}")
                return int(self._step.numpy()), self._sums.numpy().tolist()
            damaged.append(f"checkpoint {self._directory / f'step-{step}'} ({reason})")
        if damaged:
            raise RunDamagedError(
                f"no checkpoint is whole: {'; '.join(damaged)}; copy one back, or train again with "
                "--overwrite"
            )
        return 0, self._sums.numpy().tolist()

    def _read(self, step: int) -> str | None:
        """Restores a checkpoint; returns why its files cannot be read, or None."""
        prefix = checkpoint_files.prefix(self._directory, step)
        try:
            self._checkpoint.read(prefix).assert_existing_objects_matched()
        except (AssertionError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint {prefix} is of another model: {_first_line(error)}; give the same "
                "model, or train again with --overwrite"
            ) from error
        except Exception as error:  # whatever TensorFlow raises of files that it cannot read
            return _first_line(error)
        stated = int(self._step.numpy())
        return None if stated == step else f"it is of step {stated}"


def _first_line(error: Exception) -> str:
    """The message without the values of variables, which may follow it."""
    text = getattr(error, "message", str(error))
    return text.partition("\n")[0].partition(" Target variable:")[0].rstrip(".")


def weight_shapes(model: keras.Model) -> list[tuple[str, list[int]]]:
    """The path and the shape of each weight, in order."""
    return [(weight.path, list(weight.shape)) for weight in model.weights]


def check_same_weights(
    model: keras.Model, trained: Sequence[tuple[str, Sequence[int]]], run: str
) -> None:
    """Raises CheckpointError, which names the first difference, if a run has another model."""
    pairs = itertools.zip_longest(trained, weight_shapes(model))
    for before, now in pairs:
        if before is None or now is None or list(before[1]) != now[1]:
            raise CheckpointError(
                f"the run in {run} has another model: there the weight {_describe(before)}, here "
                f"{_describe(now)}; give the same model, or train again with --overwrite"
            )


def _describe(weight: tuple[str, Sequence[int]] | None) -> str:
    return "is missing" if weight is None else f"{weight[0]} of shape {list(weight[1])}"
