"""The trainer's own callbacks of Keras: the run's files, TensorBoard's logs, progress on stderr.

As in Keras with several steps per execution, `on_train_batch_end` gets the last of the steps. Keras
sorts the logs, so what is shown is the recorder's.
"""

import os
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from tfrecord_dataset import extras
from tfrecord_dataset.shown_text import counted
from trainer.progress import Pace, Progress, as_text, time_text
from trainer.report.history import saved_place
from trainer.runs.directory import RunDirectory
from trainer.training.optimizers import averaged

if TYPE_CHECKING:
    from trainer.runs.recorder import Recorder

Logs = dict[str, float] | None


class OwnCallback(keras.callbacks.Callback):
    """A callback that also reads the state of the recorder that calls it."""

    def __init__(self, recorder: "Recorder") -> None:
        super().__init__()
        self.recorder = recorder


class RunFiles(OwnCallback):
    """Writes model.keras if a validation is the best one, history.csv, and the report."""

    def __init__(self, recorder: "Recorder", run: RunDirectory) -> None:
        super().__init__(recorder)
        self._run = run

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Write the files, the row of the history after the model: it marks both as done."""
        recorder = self.recorder
        if saved_place(recorder.history, recorder.best) == len(recorder.history) - 1:
            with averaged(recorder.plan.optimizer):
                self._run.save_model(recorder.plan.model, self._run.model)
        self._run.write_history(recorder.history)
        if recorder.draw is not None:
            recorder.draw(recorder.history)


class TensorBoardLogs(OwnCallback):
    """Writes the metrics of steps and validations for TensorBoard."""

    def __init__(self, recorder: "Recorder", run: RunDirectory, pace: Pace) -> None:
        super().__init__(recorder)
        extras.load("tensorboard", "trainer", "logs are written")
        self._pace = pace
        self._writers = {
            name: tf.summary.create_file_writer(os.fspath(run.logs / name))
            for name in ("train", *(["validation"] if recorder.validate else []))
        }

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Write the means over the latest steps, on disk by the next checkpoint."""
        recorder = self.recorder
        rate = {"learning_rate": recorder.done.learning_rate}
        self._write("train", recorder.latest_means() | rate | self._pace.scalars())
        if recorder.is_at_event:
            self._writers["train"].flush()

    def on_test_end(self, logs: Logs = None) -> None:
        """Write the metrics of a validation."""
        self._write("validation", self.recorder.validation)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Bring all values on disk."""
        for writer in self._writers.values():
            writer.flush()

    def _write(self, writer: str, values: dict[str, Any]) -> None:
        with self._writers[writer].as_default(step=self.recorder.step):
            for name, value in values.items():
                tf.summary.scalar(name, value)


# Epochs (the first one compiles) or seconds before the remaining time is shown.
_EPOCHS_OF_TIME, _SECONDS_OF_TIME = 2, 30.0
_LEAST_SECONDS_SAID = 10.0


class Shown(OwnCallback):
    """Shows progress and speed, a line per epoch, and once how long the training will take."""

    def __init__(self, recorder: "Recorder", progress: Progress, pace: Pace) -> None:
        super().__init__(recorder)
        self._progress = progress
        self._pace = pace
        self._num_ended = 0
        self._is_time_said = False

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Start the bar of an epoch, perhaps in its middle."""
        recorder, total = self.recorder, self.recorder.plan.steps_per_epoch
        done = recorder.step - epoch * total
        if done < total:  # else only its validation is left
            self._progress.start(f"epoch {epoch + 1}/{recorder.num_epochs}", total, done)
            self._pace.start()

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Advance the bar."""
        recorder, done, pace = self.recorder, self.recorder.done, self._pace
        pace.add(done.steps, done.waiting_s)
        steps = recorder.last_step - recorder.step
        left_s = pace.seconds_for(
            steps, recorder.num_epochs - recorder.step // recorder.plan.steps_per_epoch
        )
        self._say_time_left(left_s, steps)
        facts = pace.facts(done.learning_rate, left_s)
        self._progress.advance(done.steps, recorder.means(), *facts)

    def on_test_begin(self, logs: Logs = None) -> None:
        """Remove the bar."""
        self._progress.finish()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Show the metrics of the epoch."""
        self._num_ended += 1
        self._progress.finish()
        text = as_text(self.recorder.logs, self.recorder.plan.task.more_metrics)
        self._progress.say(f"epoch {epoch + 1}: {text}")

    def on_train_end(self, logs: Logs = None) -> None:
        """Show the speed of the training."""
        self._progress.finish()
        if summary := self._pace.summary():
            self._progress.say(summary)

    def _say_time_left(self, left_s: float | None, steps: int) -> None:
        is_known = (
            self._num_ended >= _EPOCHS_OF_TIME or self._pace.total.seconds >= _SECONDS_OF_TIME
        )
        if self._is_time_said or left_s is None or not is_known:
            return
        self._is_time_said = True
        if left_s >= _LEAST_SECONDS_SAID:
            self._progress.say(f"about {time_text(left_s)} left for {counted(steps, 'step')}")
