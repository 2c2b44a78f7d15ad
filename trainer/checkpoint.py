"""Weights, optimizer and the number of epochs done, saved after each epoch."""

import keras
import tensorflow as tf

from trainer.errors import CheckpointError


class Checkpoints:
    """The last few checkpoints of a run.

    The number of epochs is the complete position in the data: the order is a function of the
    seed, and the number of epochs gives the records used.
    """

    def __init__(
        self,
        directory: str,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        max_to_keep: int = 3,
    ) -> None:
        self._epochs_done = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=model, optimizer=optimizer, epochs_done=self._epochs_done
        )
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, directory, max_to_keep=max_to_keep, checkpoint_name="epoch"
        )

    def save(self, epochs_done: int) -> None:
        """Saves a checkpoint, completely or not at all."""
        self._epochs_done.assign(epochs_done)
        self._manager.save(checkpoint_number=epochs_done)

    def restore(self) -> int:
        """Restores the newest checkpoint; returns its number of epochs, 0 without a checkpoint.

        Raises:
            CheckpointError: The checkpoint is of another model.
        """
        newest = self._manager.latest_checkpoint
        if newest is None:
            return 0
        try:
            self._checkpoint.restore(newest).assert_existing_objects_matched()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            raise CheckpointError(
                f"checkpoint {newest} does not hold this model: {error}; train again with "
                "--overwrite"
            ) from error
        return int(self._epochs_done.numpy())
