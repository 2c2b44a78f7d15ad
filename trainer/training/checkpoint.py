"""Weights, optimizer and position of a run, saved completely or not at all."""

import contextlib
import itertools
from collections.abc import Sequence
from pathlib import Path

import keras
import tensorflow as tf

from trainer.errors import CheckpointError


class Checkpoints:
    """The last few checkpoints of a run.

    The number of steps is the complete position in the data: the order is a function of the seed,
    and steps tell the records used. The sums are those of the epoch's metrics so far.
    """

    def __init__(
        self,
        directory: str,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        num_sums: int = 1,
        max_to_keep: int = 3,
        writes: bool = True,
    ) -> None:
        self._writes = writes  # where several workers train, one does
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._sums = tf.Variable([0.0] * num_sums, dtype=tf.float64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=model, optimizer=optimizer, step=self._step, sums=self._sums
        )
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, directory, max_to_keep=max_to_keep, checkpoint_name="step"
        )

    def save(self, step: int, sums: Sequence[float]) -> None:
        """Saves a checkpoint, completely or not at all."""
        if not self._writes:
            return
        self._step.assign(step)
        self._sums.assign(sums)
        self._manager.save(checkpoint_number=step)

    def restore(self) -> tuple[int, list[float]]:
        """Restores the newest checkpoint.

        Returns:
            The steps done and the sums of the epoch so far: 0 and zeros without a checkpoint.

        Raises:
            CheckpointError: The checkpoint is of another model.
        """
        newest = self._manager.latest_checkpoint
        if self._writes:
            self._delete_strays()
        if newest is not None:
            try:
                self._checkpoint.restore(newest).assert_existing_objects_matched()
            except (AssertionError, ValueError, tf.errors.OpError) as error:
                raise CheckpointError(
                    f"checkpoint {newest} does not hold this model: {error}; train again with "
                    "--overwrite"
                ) from error
        return int(self._step.numpy()), self._sums.numpy().tolist()

    def _delete_strays(self) -> None:
        """Deletes what a killed run left of a checkpoint that it was writing."""
        kept = {Path(path).name for path in self._manager.checkpoints}
        for file in Path(self._manager.directory).glob("step-*"):
            if file.name.partition(".")[0] not in kept:
                with contextlib.suppress(OSError):
                    file.unlink()


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
