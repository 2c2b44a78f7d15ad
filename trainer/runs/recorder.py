"""The follower of a training: counts steps and epochs, saves, validates, calls callbacks."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import keras

from trainer.errors import RunDamagedError, TrainingDivergedError
from trainer.metrics import GUESS
from trainer.options.train_options import TrainConfig
from trainer.progress import Pace, Progress
from trainer.report.history import Best
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.interruption import Interruption
from trainer.runs.own_callbacks import RunFiles, Shown, TensorBoardLogs
from trainer.training.checkpoint import Checkpoints
from trainer.training.hooks import TRAINING, overrides
from trainer.training.loop import Done, TrainingPlan, metric_names
from trainer.training.optimizers import averaged


@dataclasses.dataclass
class Recorder:
    """Follows a training: saves checkpoints, validates, and calls Keras's callbacks.

    These are the user's and the trainer's own (`own_callbacks`), which write and show what the
    recorder counts. A checkpoint is saved before each validation, so a run that is killed or fails
    during validation resumes with that validation.
    """

    run: RunDirectory | None  # None except on the first worker
    plan: TrainingPlan
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
        self._interruption = Interruption()
        self._names = metric_names(plan.task)
        self._sums = [0.0] * len(self._names)
        self.done = Done(steps=0, sums=self._sums, learning_rate=math.nan)  # the latest steps
        self.validation: dict[str, float] = {}  # the latest one
        plan.model.stop_training = False
        plan.model.optimizer = plan.optimizer  # for callbacks
        pace = Pace(plan.batch_size, plan.task.unit)
        shown = Shown(self, self.progress, pace)
        files = [] if self.run is None else [RunFiles(self, self.run)]
        logs = [] if self.run is None else [TensorBoardLogs(self, self.run, pace)]
        parameters = {"verbose": 0, "epochs": self.num_epochs, "steps": plan.steps_per_epoch}
        self._callbacks = keras.callbacks.CallbackList(
            [*files, *self.callbacks, shown, *logs],
            add_history=True,
            model=plan.model,
            **parameters,
        )
        self.logs: dict[str, float] = {}  # of the last epoch, for callbacks
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
            if self.step and self.is_at_epoch_end:
                if not self._is_recorded:
                    self._callbacks.on_epoch_begin(self._epoch - 1)
                self._end_epoch()
            self._begin_epoch()
            yield
            self._callbacks.on_train_end(self.logs)

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
    def is_at_epoch_end(self) -> bool:
        """Whether this step ends an epoch, with a validation and a row of the history."""
        return self.step % self.plan.steps_per_epoch == 0

    @property
    def is_at_event(self) -> bool:
        """Whether a checkpoint is saved after this step."""
        return any(self.step % period == 0 for period in self._periods)

    @property
    def is_done(self) -> bool:
        """Whether training is complete."""
        if self.step >= self.last_step or self._is_stopped:
            return True
        patience = self.options.early_stopping
        if patience is None or not self.history:
            return False
        return len(self.history) - 1 - self.best.place(self.history) >= patience

    def steps_to_event(self) -> int:
        """Number of steps to the next checkpoint, at least 1."""
        return min(period - self.step % period for period in self._periods)

    @property
    def is_asked_to_end(self) -> bool:
        """Whether a signal was received."""
        return self._interruption.signal_name is not None

    @property
    def sees_steps(self) -> bool:
        """Whether a callback of the user has a hook of the training's batches."""
        return overrides(self.callbacks, TRAINING)

    def begin(self) -> None:
        """Call the hooks at the start of a step."""
        if self.sees_steps:
            self._callbacks.on_train_batch_begin(self.step % self.plan.steps_per_epoch)

    def advance(self, done: Done) -> None:
        """Count completed steps, then save, validate or end the training.

        Raises:
            TrainingDivergedError: The loss is not finite; these steps are not saved.
            InterruptedRunError: The process was asked to end; the run is saved.
        """
        first, self.step = self.step + 1, self.step + done.steps
        self.done = done
        if not math.isfinite(done.sums[0]):
            number, loss = done.diverged or (done.steps, done.sums[0])
            raise _diverged(first + number - 1, loss, self.plan.steps_per_epoch)
        self._sums = [old + new for old, new in zip(self._sums, done.sums, strict=True)]
        in_epoch = (self.step - 1) % self.plan.steps_per_epoch
        self._callbacks.on_train_batch_end(in_epoch, self.means())
        if done.is_settled:
            self._settle(done)

    def _settle(self, done: Done) -> None:
        """Save, validate or end the training, whose weights are those of this step."""
        # A single process ends at once; several agree through `done.ends`.
        ends = done.ends or (self.is_asked_to_end and not self.plan.has_other_workers)
        is_stopped = self.plan.model.stop_training  # by a callback, also within an epoch
        if ends or is_stopped or self.is_at_event:
            self.checkpoints.save(self.step, self._sums)
        if ends:
            self._interruption.end()
        if self.is_at_epoch_end or is_stopped:
            self._end_epoch()
            self._begin_epoch()

    def latest_means(self) -> dict[str, float]:
        """Return the mean loss and metrics of the latest steps."""
        return self._by_name(self.done.sums, self.done.steps)

    def means(self) -> dict[str, float]:
        """Return the mean loss and metrics since the start of the epoch."""
        return self._by_name(self._sums, (self.step - 1) % self.plan.steps_per_epoch + 1)

    def _by_name(self, sums: Sequence[float], steps: int) -> dict[str, float]:
        count = steps * self.plan.batch_size
        return {name: each / count for name, each in zip(self._names, sums, strict=True)}

    def _begin_epoch(self) -> None:
        if not self.is_done:
            self._callbacks.on_epoch_begin(self.step // self.plan.steps_per_epoch)

    def _end_epoch(self) -> None:
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

    def _validate(self) -> None:
        """Validate the weights of this step, with the callbacks' hooks."""
        if self.validate is None:
            return
        is_awaited = self.plan.has_other_workers
        with (
            self._interruption.with_nothing_to_save(is_awaited),
            averaged(self.plan.optimizer),
        ):
            self._callbacks.on_test_begin()
            self.validation = self.validate(callbacks=self._callbacks)
            self._callbacks.on_test_end(_without_guess(self.validation))

    def _record_row(self) -> None:
        self._validate()
        means, validation = self.means(), self.validation
        of_model = _without_guess(validation)
        self.logs = means | {f"val_{name}": value for name, value in of_model.items()}
        row: Row = {"epoch": self._epoch, "step": self.step, **means}
        self.history.append(row | {f"val_{name}": value for name, value in validation.items()})
        self._callbacks.on_epoch_end(self._epoch - 1, self.logs)


def _without_guess(validation: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in validation.items() if not name.startswith(GUESS)}


def _diverged(step: int, loss: float, steps_per_epoch: int) -> TrainingDivergedError:
    remedy = "lower --learning-rate, or clip with --clip-norm 1"
    if step == 1:
        remedy = "no weight has changed yet: look for very large numbers in the records"
    epoch = (step - 1) // steps_per_epoch + 1
    return TrainingDivergedError(f"the loss of step {step} (epoch {epoch}) is {loss}; {remedy}")
