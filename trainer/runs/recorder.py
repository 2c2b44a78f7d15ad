"""The work between steps: metrics, checkpoints, validation, history, callbacks, signals."""

import contextlib
import dataclasses
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfrecord_dataset.shown_text import counted
from trainer.errors import InterruptedRunError, RunDamagedError, TrainingDivergedError
from trainer.metrics import GUESS
from trainer.options.train import TrainConfig
from trainer.progress import Pace, Progress, as_text, time_text
from trainer.report.history import Best, saved_place
from trainer.runs.directory import Row, RunDirectory
from trainer.training.checkpoint import Checkpoints
from trainer.training.hooks import TRAINING, overrides
from trainer.training.loop import Done, Plan, metric_names
from trainer.training.optimizers import averaged


class Interruption:
    """Whether the process was asked to stop."""

    def __init__(self) -> None:
        self.signal_name: str | None = None  # "SIGTERM" or "SIGINT" after a signal
        self._is_saved = False

    @contextlib.contextmanager
    def expected(self) -> Iterator[None]:
        """Catch the signals in this context; a second one kills the process."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

        def note(number: int, frame: Any) -> None:
            del frame
            self.signal_name = signal.Signals(number).name
            for each, handler in before.items():
                signal.signal(each, handler)
            if self._is_saved:
                self.end()

        for each in before:
            signal.signal(each, note)
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    @contextlib.contextmanager
    def with_nothing_to_save(self, others_wait: bool = False) -> Iterator[None]:
        """Let signals raise at once in this context, unless `others_wait` for this worker."""
        self._is_saved = not others_wait
        try:
            yield
        finally:
            self._is_saved = False

    def end(self) -> None:
        """Raise InterruptedRunError."""
        cause = self.signal_name or "a signal to another worker"
        raise InterruptedRunError(
            f"ended by {cause}; the run is saved, and the same command continues it"
        )


# Epochs (the first one compiles) or seconds before the remaining time is shown.
_EPOCHS_OF_TIME, _SECONDS_OF_TIME = 2, 30.0
_LEAST_SECONDS_SAID = 10.0


@dataclasses.dataclass
class Recorder:
    """Follows a training: saves checkpoints, validates and logs.

    A checkpoint is saved before each validation, so a run that is killed or fails during validation
    resumes with that validation.
    """

    run: RunDirectory | None  # None except on the first worker
    plan: Plan
    options: TrainConfig
    best: Best
    checkpoints: Checkpoints
    validate: Callable[..., dict[str, float]] | None  # takes callbacks; None without validation
    history: list[Row]
    progress: Progress
    callbacks: Sequence[keras.callbacks.Callback] = ()  # called as by `Model.fit`
    draw: Callable[[Sequence[Row]], None] | None = None  # draws the report; raises nothing
    step: int = 0  # completed

    def __post_init__(self) -> None:
        plan = self.plan
        periods = (plan.steps_per_epoch, self.options.checkpoint_every_steps)
        self._periods = [period for period in periods if period]
        self._pace = Pace(plan.batch_size, plan.task.unit)
        self._is_time_said = False
        self._num_ended = 0
        self._interruption = Interruption()
        self._names = metric_names(plan.task)
        self._sums = [0.0] * len(self._names)
        self._writers = {
            name: tf.summary.create_file_writer(os.fspath(self.run.logs / name))
            for name in ("train", *(["validation"] if self.validate else []))
            if self.run is not None
        }
        plan.model.stop_training = False
        plan.model.optimizer = plan.optimizer  # for callbacks
        parameters = {"verbose": 0, "epochs": self.num_epochs, "steps": plan.steps_per_epoch}
        self._callbacks = keras.callbacks.CallbackList(
            [*self.callbacks], add_history=True, model=plan.model, **parameters
        )
        self._logs: dict[str, float] = {}  # of the last epoch, for callbacks
        self._is_stopped = False  # by a callback, as in `Model.fit` after a step or epoch

    def restore(self) -> int:
        """Restore the newest checkpoint; return its step.

        Raises:
            CheckpointError, RunDamagedError: See `Checkpoints.restore`; or no checkpoint exists.
        """
        self.step, self._sums = self.checkpoints.restore()
        if self.history and not self.step:
            raise RunDamagedError(
                "history.csv has rows, but there is no checkpoint to go on from; copy the "
                "checkpoints back, or train again with --overwrite"
            )
        self.history = [row for row in self.history if row["step"] <= self.step]
        return self.step

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Context of the training, in which signals are caught."""
        with self._interruption.expected():
            self._callbacks.on_train_begin()
            if self.step and self.ends_epoch:
                if not self._is_recorded:
                    self._callbacks.on_epoch_begin(self._epoch - 1)
                self._end_epoch()
            self._start_progress()
            yield
            self.progress.finish()
            if summary := self._pace.summary():
                self.progress.say(summary)
            self._callbacks.on_train_end(self._logs)

    @property
    def num_epochs(self) -> int:
        """Total number of epochs."""
        assert self.options.epochs is not None
        return self.options.epochs

    @property
    def last_step(self) -> int:
        """Total number of steps."""
        return self.num_epochs * self.plan.steps_per_epoch

    @property
    def ends_epoch(self) -> bool:
        """Whether this step ends an epoch, with a validation and a row of the history."""
        return self.step % self.plan.steps_per_epoch == 0

    @property
    def is_done(self) -> bool:
        """Whether training is complete."""
        if self.step >= self.last_step or self._is_stopped:
            return True
        patience = self.options.early_stopping
        if patience is None or not self.history:
            return False
        return len(self.history) - 1 - self.best_place >= patience

    def steps_to_event(self) -> int:
        """Number of steps to the next checkpoint, at least 1."""
        return min(period - self.step % period for period in self._periods)

    @property
    def is_asked_to_end(self) -> bool:
        """Whether a signal was received."""
        return self._interruption.signal_name is not None

    @property
    def sees_steps(self) -> bool:
        """Whether a callback has a hook of the training's batches."""
        return overrides(self._callbacks, TRAINING)

    def begin(self) -> None:
        """Call the hooks at the start of a step."""
        if self.sees_steps:
            self._callbacks.on_train_batch_begin(self.step % self.plan.steps_per_epoch)

    def advance(self, done: Done) -> None:
        """Count completed steps, then log, save, validate or end the training.

        Raises:
            TrainingDivergedError: The loss is not finite; these steps are not saved.
            InterruptedRunError: The process was asked to end; the run is saved.
        """
        steps, sums = done.steps, done.sums
        first, self.step = self.step + 1, self.step + steps
        if not math.isfinite(sums[0]):
            number, loss = done.diverged or (steps, sums[0])
            raise _diverged(first + number - 1, loss, self.plan.steps_per_epoch)
        self._sums = [old + new for old, new in zip(self._sums, sums, strict=True)]
        means = self._means()
        self._pace.add(steps, done.waiting_s)
        epochs = self.num_epochs - self.step // self.plan.steps_per_epoch
        left_s = self._pace.seconds_for(self.last_step - self.step, epochs)
        self._say_time_left(left_s)
        self.progress.advance(steps, means, *self._pace.facts(done.learning_rate, left_s))
        now = (each / steps / self.plan.batch_size for each in sums)
        logged = {**dict(zip(self._names, now, strict=True)), "learning_rate": done.learning_rate}
        self._log("train", logged | self._pace.scalars())
        if self.sees_steps:
            in_epoch = (self.step - 1) % self.plan.steps_per_epoch
            self._callbacks.on_train_batch_end(in_epoch, means)
        if done.is_settled:
            self._settle(done)

    def _settle(self, done: Done) -> None:
        """Save, validate or end the training, whose weights are those of this step."""
        # A single process ends at once; several agree through `done.ends`.
        ends = done.ends or (self.is_asked_to_end and not self.plan.has_other_workers)
        is_stopped = self.plan.model.stop_training  # by a callback, also within an epoch
        if ends or is_stopped or any(self.step % period == 0 for period in self._periods):
            self.checkpoints.save(self.step, self._sums)
            self._flush()
        if ends:
            self._interruption.end()
        if self.ends_epoch or is_stopped:
            self.progress.finish()
            self._end_epoch()
            self._start_progress()

    def _say_time_left(self, left_s: float | None) -> None:
        is_known = (
            self._num_ended >= _EPOCHS_OF_TIME or self._pace.total.seconds >= _SECONDS_OF_TIME
        )
        if self._is_time_said or left_s is None or not is_known:
            return
        self._is_time_said = True
        if left_s >= _LEAST_SECONDS_SAID:
            steps = counted(self.last_step - self.step, "step")
            self.progress.say(f"about {time_text(left_s)} left for {steps}")

    def _means(self) -> dict[str, float]:
        """Mean loss and metrics since the start of the epoch."""
        steps = (self.step - 1) % self.plan.steps_per_epoch + 1
        count = steps * self.plan.batch_size
        return {name: each / count for name, each in zip(self._names, self._sums, strict=True)}

    def _start_progress(self) -> None:
        epoch, done = divmod(self.step, self.plan.steps_per_epoch)
        if self.is_done:
            return
        self._callbacks.on_epoch_begin(epoch)
        self.progress.start(f"epoch {epoch + 1}/{self.num_epochs}", self.plan.steps_per_epoch, done)
        self._pace.start()

    def _end_epoch(self) -> None:
        self._num_ended += 1
        if not self._is_recorded:
            self._record_row()
        self._sums = [0.0] * len(self._names)
        self._is_stopped = self.plan.model.stop_training

    @property
    def _epoch(self) -> int:
        """Number of the epoch of this step, from 1."""
        return -(-self.step // self.plan.steps_per_epoch)

    @property
    def _is_recorded(self) -> bool:
        return any(row["step"] == self.step for row in self.history)

    def _validation(self) -> dict[str, float]:
        """Validate the weights of this step, with the callbacks' hooks."""
        assert self.validate is not None
        is_awaited = self.plan.has_other_workers
        with (
            self._interruption.with_nothing_to_save(is_awaited),
            averaged(self.plan.optimizer),
        ):
            self._callbacks.on_test_begin()
            validation = self.validate(callbacks=self._callbacks)
            self._callbacks.on_test_end(_without_baseline(validation))
        self._log("validation", validation)
        return validation

    def _record_row(self) -> None:
        validation = {} if self.validate is None else self._validation()
        self._logs = self._means() | {
            f"val_{name}": value for name, value in _without_baseline(validation).items()
        }
        row: Row = {"epoch": self._epoch, "step": self.step, **self._means()}
        row |= {f"val_{name}": value for name, value in validation.items()}
        self.history.append(row)
        if self.run is not None:
            if saved_place(self.history, self.best) == len(self.history) - 1:
                with averaged(self.plan.optimizer):
                    self.run.save_model(self.plan.model, self.run.model)
            # The row marks the validation as done, so it is written after the model.
            self.run.write_history(self.history)
            if self.draw is not None:
                self._flush()
                self.draw(self.history)
        self._callbacks.on_epoch_end(self._epoch - 1, self._logs)
        self.progress.say(
            f"epoch {self._epoch}: {as_text(self._logs, self.plan.task.more_metrics)}"
        )

    @property
    def best_place(self) -> int:
        """Index of the best row in the history."""
        return self.best.place(self.history)

    def _flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def _log(self, writer: str, values: dict[str, Any]) -> None:
        if writer in self._writers:
            with self._writers[writer].as_default(step=self.step):
                for name, value in values.items():
                    tf.summary.scalar(name, value)


def _without_baseline(validation: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in validation.items() if not name.startswith(GUESS)}


def _diverged(step: int, loss: float, steps_per_epoch: int) -> TrainingDivergedError:
    remedy = "lower --learning-rate, or clip with --clip-norm 1"
    if step == 1:
        remedy = "no weight has changed yet: look for very large numbers in the records"
    epoch = (step - 1) // steps_per_epoch + 1
    return TrainingDivergedError(f"the loss of step {step} (epoch {epoch}) is {loss}; {remedy}")
