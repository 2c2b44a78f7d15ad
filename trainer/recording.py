"""The work at the end of each epoch: validate, write the history, save."""

import math
import os
from collections.abc import Callable

import keras
import tensorflow as tf

from trainer.checkpoint import Checkpoints
from trainer.errors import TrainingDivergedError
from trainer.progress import Progress, as_text
from trainer.run_directory import Row, RunDirectory


class Recorder:
    """Records a run, epoch by epoch.

    The history is written before the checkpoint: if the run is killed between the two, resuming
    drops the extra row.
    """

    def __init__(
        self,
        run: RunDirectory,
        model: keras.Model,
        checkpoints: Checkpoints,
        validate: Callable[[], dict[str, float]] | None,
        history: list[Row],
        progress: Progress,
    ) -> None:
        self.history = history
        self._run = run
        self._model = model
        self._checkpoints = checkpoints
        self._validate = validate
        self._progress = progress
        self._writers = {
            name: tf.summary.create_file_writer(os.fspath(run.logs / name))
            for name in ("train", *(["validation"] if validate else []))
        }

    def record_epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        """Validates, and saves the results of `epoch`, which counts from 0.

        Raises:
            TrainingDivergedError: The loss is not finite; nothing of the epoch is saved.
        """
        if not math.isfinite(metrics["loss"]):
            raise TrainingDivergedError(
                f"the loss of epoch {epoch + 1} is {metrics['loss']}; lower --learning-rate, or "
                "clip with --clip-norm 1"
            )
        row: Row = {"epoch": epoch + 1, **metrics}
        self._log("train", epoch, metrics)
        if self._validate is not None:
            validation = self._validate()
            row |= {f"val_{name}": value for name, value in validation.items()}
            self._log("validation", epoch, validation)
        self.history.append(row)
        self._run.write_history(self.history)
        if row is min(self.history, key=_selection_loss):
            self._run.save_model(self._model, self._run.best_model)
        self._checkpoints.save(epoch + 1)
        values = {name: value for name, value in row.items() if name != "epoch"}
        self._progress.say(f"epoch {epoch + 1}: {as_text(values)}")

    def _log(self, writer: str, epoch: int, values: dict[str, float]) -> None:
        with self._writers[writer].as_default(step=epoch + 1):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        self._writers[writer].flush()


def _selection_loss(row: Row) -> float:
    """The best epoch has the lowest; a loss that is not finite is never the best."""
    loss = row.get("val_loss", row["loss"])
    return loss if math.isfinite(loss) else math.inf
