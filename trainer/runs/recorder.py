"""The work between steps: metrics, checkpoints, validation, history, report, callbacks, signals."""

import contextlib
import dataclasses
import datetime
import functools
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import keras
import numpy as np
import tensorflow as tf

from tfrecord_dataset import durable
from tfrecord_dataset.format import example
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.shown_text import counted, shown
from trainer.dataset import Dataset
from trainer.errors import InterruptedRunError, RunDamagedError, TrainingDivergedError
from trainer.options.commands import ShowBatchConfig
from trainer.options.train import TrainConfig
from trainer.progress import Pace, Progress, as_text, time_text
from trainer.report import pictures
from trainer.report.history import Best, best_of, shown_metric
from trainer.report.page import Pictured, Sections, html
from trainer.runs.choices import open_input
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.preparing import Prepared
from trainer.tasks import Task
from trainer.tasks.baselines import PREFIX, Baseline
from trainer.tasks.figures import Accumulator, Example, Overlay
from trainer.tasks.inputs.image import check_images
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.targets.results import results_of
from trainer.training.checkpoint import Checkpoints
from trainer.training.evaluation import evaluator
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
        if self.step >= self.last_step or self.plan.model.stop_training:
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
        self.progress.advance(steps, means, self._pace.facts(done.learning_rate, left_s))
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
            if self.validate is None or self.best_place == len(self.history) - 1:
                with averaged(self.plan.optimizer):
                    self.run.save_model(self.plan.model, self.run.model)
            # The row marks the validation as done, so it is written after the model.
            self.run.write_history(self.history)
            if self.draw is not None:
                self._flush()
                self.draw(self.history)
        self._callbacks.on_epoch_end(self._epoch - 1, self._logs)
        self.progress.say(f"epoch {self._epoch}: {as_text(self._logs)}")

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
    return {name: value for name, value in validation.items() if not name.startswith(PREFIX)}


def _diverged(step: int, loss: float, steps_per_epoch: int) -> TrainingDivergedError:
    remedy = "lower --learning-rate, or clip with --clip-norm 1"
    if step == 1:
        remedy = "no weight has changed yet: look for very large numbers in the records"
    epoch = (step - 1) // steps_per_epoch + 1
    return TrainingDivergedError(f"the loss of step {step} (epoch {epoch}) is {loss}; {remedy}")


_MOST_OF_BATCH = 16
_MOST_EXAMPLES = 24
_TIMES_OF_DRAWING = 20


class RunPage:
    """Validates a run and draws its report, in at most a twentieth of the time."""

    def __init__(self, prepared: Prepared, plan: Plan) -> None:
        self._baseline: Baseline | None = None  # trivial baseline, set by the first validation
        self._guessed: Row = {}
        self._started = datetime.datetime.now().astimezone()
        self._prepared = prepared
        self._plan = plan
        self._accumulators: Sequence[Accumulator] = ()
        self._waiting: Sequence[Row] = ()
        self._next_s = 0.0

    @functools.cached_property
    def _evaluate(self) -> Callable[..., Row]:
        prepared, plan, split = self._prepared, self._plan, self._prepared.validation_split
        assert split is not None
        batches = functools.partial(
            evaluation_batches,
            plan.task,
            prepared.dataset,
            split,
            batch_size=plan.batch_size,
            cache=prepared.caches[1],
        )
        num_records = prepared.dataset.num_records(split)
        return evaluator(
            plan.task, plan.model, plan.strategy, batches, plan.batch_size, num_records
        )

    def validate(
        self,
        num_batches: int | None = None,
        callbacks: keras.callbacks.CallbackList | None = None,
    ) -> Row:
        """Return loss and metrics of the plan's current model, and show them in the report.

        With `num_batches`, evaluate only these batches and leave the report unchanged.
        """
        results = results_of(self._plan.task.goal)
        accumulators = results.accumulators()
        if num_batches:
            return self._evaluate(num_batches, accumulators)
        self._accumulators = accumulators
        if self._baseline is not None:  # equal for all validations
            return self._evaluate(None, accumulators, callbacks) | self._guessed
        baseline = results.baseline()
        result = self._evaluate(None, [*accumulators, baseline], callbacks)
        self._baseline = baseline
        self._guessed = {baseline.key: result[baseline.key]}
        return result

    def compare(self, row: Row, stated: str) -> None:
        """Print the trivial baseline's score; the row's `stated` was printed before."""
        if self._baseline is not None:
            say_comparison(self._baseline, _validated(row), self._prepared.progress, stated)

    @contextlib.contextmanager
    def completed(self) -> Iterator[None]:
        """Context of the training; at its end the report shows the last validation."""
        try:
            yield
        finally:
            if self._waiting:
                self._write(self._waiting)

    def draw(self, history: Sequence[Row]) -> None:
        """Write the report, unless it was written recently."""
        if (started := time.monotonic()) < self._next_s:
            self._waiting = history
            return
        self._waiting = ()
        self._write(history)
        self._next_s = started + _TIMES_OF_DRAWING * (time.monotonic() - started)

    def _write(self, history: Sequence[Row]) -> None:
        """Write the report; an error does not end the training."""
        prepared, task = self._prepared, self._plan.task
        run, split = prepared.run, prepared.validation_split or ""
        try:
            best = best_of(prepared.config.best_by, history)
            best_row = history[best.place(history)]
            baseline = ""
            if self._baseline is not None:
                shown_value = shown_metric(best_row, best.metric)
                baseline = self._baseline.compare(_validated(best_row), shown_value)
            sections = dataclasses.replace(
                sections_of(self._accumulators, task, prepared.dataset, split),
                model=f"epoch {history[-1]['epoch']:.0f}",
                batch=self._batch,
                data_report=report_of(prepared.dataset, run.path),
                baseline=baseline,
            )
            name, facts = run.path.absolute().name, [*self._facts()]
            options = prepared.config
            run.write_report(
                html(name, options, history, best, task=task.name, facts=facts, sections=sections)
            )
        except Exception as error:  # a report must not end a training
            name = type(error).__name__
            prepared.progress.say(
                f"warning: {run.report} is not drawn ({name}: {error}); training continues"
            )

    def _facts(self) -> Iterator[str]:
        """Yield the facts of the report's header: model, data, date and duration."""
        prepared, plan = self._prepared, self._plan
        name = prepared.config.model_fn or prepared.config.model
        yield f"{name}, {plan.model.count_params():,} parameters"
        fingerprint = prepared.data["fingerprint"]
        data = shown(prepared.config.data)
        yield f"data {data}" + (f" ({fingerprint[:16]})" if fingerprint else "")
        now = datetime.datetime.now().astimezone()
        seconds = (now - self._started).total_seconds()
        yield f"{now:%Y-%m-%d %H:%M}, after {time_text(seconds)}"

    @functools.cached_property
    def _batch(self) -> list[Pictured]:
        """Read the first batch again: the training's own is on its devices."""
        task = self._plan.task
        if not task.images:
            return []
        batch = next(iter(self._plan.batches_from(0).take(1)))
        return [
            Pictured(pictures={"": pictures.picture(pixels, overlay)}, text=text)
            for pixels, text, overlay in pictures.of_batch(task, batch, _MOST_OF_BATCH)
        ]


def report_of(dataset: Dataset, folder: Path) -> str:
    """Return the URL of a local dataset's report, relative to `folder`; "" if none."""
    report = Path(dataset.path, "report.html")
    return quote(os.path.relpath(report, folder.absolute())) if report.exists() else ""


def say_comparison(baseline: Baseline, result: Row, progress: Progress, stated: str = "") -> None:
    """Print the trivial baseline's score; for arguments, see `Baseline.compare`."""
    say = progress.say if baseline.is_beaten_by(result) else progress.warn
    say(baseline.compare(result, stated))


def _validated(row: Row) -> Row:
    """Return a row's validation metrics, without the prefix of their names."""
    return {name[4:]: value for name, value in row.items() if name.startswith("val_")}


def sections_of(
    accumulators: Sequence[Accumulator], task: Task, dataset: Dataset, split: str
) -> Sections:
    """Return the figures and examples that accumulators collected in a split."""
    examples = [each for one in accumulators for each in one.examples()][:_MOST_EXAMPLES]
    return Sections(
        split=split,
        figures={name: value for one in accumulators for name, value in one.figures().items()},
        examples=[*_pictured(task, dataset, split, examples)],
    )


def _pictured(
    task: Task, dataset: Dataset, split: str, examples: Sequence[Example]
) -> Iterator[Pictured]:
    """Yield examples with the first image of their records, as stored."""
    if not examples:
        return
    index = dataset.index(split)
    numbers = np.array([each.number for each in examples], np.int64)
    if split in dataset.parts:
        numbers = dataset.parts[split][numbers]
    image = dataset.features[task.images[0].name] if task.images else None
    keys = [] if image is None else [image.key, image.subkey("filename")]
    for each, record in zip(examples, RecordReader(index).read(numbers), strict=True):
        lists = example.lists(record, keys)
        encoded, source = ([*lists.get(key, ("", ()))[1], b""][0] for key in keys or ("", ""))
        name = shown(source.decode(errors="replace")) or f"{split} {each.number}"
        overlays = each.overlays or {"": Overlay()}
        pixels = pictures.opened(encoded) if encoded else None
        drawn = {
            title: pictures.picture(pixels, overlay)
            for title, overlay in overlays.items()
            if pixels is not None
        }
        yield Pictured(pictures=drawn, text=f"{name}: {each.text}")


def show_batch(config: ShowBatchConfig) -> str:
    """Draw the first batch of a training with these options; return the file's path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    opened = open_input(config, Progress(quiet=config.quiet))
    check_images("show-batch", opened.task.inputs.values())
    first = next(iter(opened.batches()))
    batch = pictures.of_batch(opened.task, first, opened.config.global_batch)
    durable.make_folders(os.fspath(Path(config.output).parent))
    with durable.replacing(config.output, synced=False) as handle:
        pictures.sheet(batch).save(handle, "PNG")
    return config.output
