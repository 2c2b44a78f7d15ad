"""The command `train`: prepares, builds and follows a training."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.standard_streams import address
from trainer.dataset import Dataset
from trainer.options.train_options import USUAL_LEARNING_RATE
from trainer.raw_rows import RowOptions
from trainer.report.history import Best, best_by, saved_place
from trainer.runs import choices
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.preparing import NOTHING_OWN, OwnParts, Prepared, build_plan, prepare
from trainer.runs.recorder import Recorder
from trainer.runs.run_page import RunPage
from trainer.tasks.task_json import task_to_json
from trainer.training import loop
from trainer.training.checkpoint import Checkpoints
from trainer.training.loop import TrainingPlan
from trainer.training.optimizers import averaged, change_of_cosine, inner_optimizer
from trainer.workers import read_workers


def train(
    given: Mapping[str, Any], dataset: Dataset | None = None, own: OwnParts = NOTHING_OWN
) -> Row:
    """Train, or continue the run in `output`; return the history's row of the result.

    Args:
        given: Fields of `TrainConfig` by name; at least `output` to continue a run.
        dataset: Dataset of `data`, if already open.
        own: The user's parts.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    run, workers = RunDirectory(given["output"]), read_workers()
    with run.held() if workers.is_chief else contextlib.nullcontext():
        prepared = prepare(run, workers, given, dataset, own)
        row, best = follow(prepared, build_plan(prepared))
        epochs = None
        if workers.count == 1 and given.get("epochs") is None:
            epochs = choices.epochs_to_train_on(prepared.config, run.read_history(), best)
        if epochs is None:
            return row
        prepared.progress.say(f"validation still improves: training on to epoch {epochs}")
        longer = {**given, "resume": True, "overwrite": False, "epochs": epochs}
        prepared = prepare(run, workers, longer, dataset, own)
        return follow(prepared, build_plan(prepared))[0]


def follow(prepared: Prepared, plan: TrainingPlan) -> tuple[Row, Best]:
    """Train by the plan and record the run; return the row of the result, and its criterion."""
    run, config, progress = prepared.run, prepared.config, prepared.progress
    is_chief, page = prepared.workers.is_chief, RunPage(prepared, plan)
    recorder = _recorder(prepared, plan, page)
    progress.say(choices.describe_plan(config, plan.steps_per_epoch))
    progress.say(
        f"{plan.model.name}: {plan.model.count_params():,} parameters, "
        f"{counted(plan.task.num_outputs, 'output')}, "
        f"{counted(plan.strategy.num_replicas_in_sync, 'replica')}, "
        f"seed {config.seed}"
    )
    if recorder.restore():
        for line in _continue(prepared, plan, recorder.step):
            progress.say(line)
    num_earlier = len(recorder.history)
    with page.completed():
        with recorder.following():
            if recorder.is_done:
                progress.say(f"all {config.epochs} epochs are finished; raise --epochs for more")
            loop.run(plan, recorder)
        with averaged(plan.optimizer):
            if is_chief:
                run.save_model(plan.model, run.last_model)
        place = saved_place(recorder.history, recorder.best)
        if recorder.validate is not None and place < num_earlier < len(recorder.history):
            page.evaluate_model(recorder.history)
    _say_result(prepared, recorder, page)
    return recorder.history[place], recorder.best


def _recorder(prepared: Prepared, plan: TrainingPlan, page: RunPage) -> Recorder:
    """Validate one batch, write config.json and return the recorder."""
    run, config, is_chief = prepared.run, prepared.config, prepared.workers.is_chief
    validate = None if prepared.validation_split is None else page.validate
    names = loop.metric_names(plan.task)
    if validate is not None:
        names = [*validate(num_batches=1)]  # finds errors before training
    best = page.best = best_by(
        config.best_by or "loss", names, plan.task.more_metrics, validated=validate is not None
    )
    if is_chief:
        if config.overwrite:
            run.clear()
        run.write_config(
            _config_json(prepared, best), task_to_json(plan.task, prepared.dataset.features)
        )
    checkpoints = Checkpoints(
        run.checkpoints,
        plan.model,
        plan.optimizer,
        num_sums=len(loop.metric_names(plan.task)),
        writes=is_chief,
        say=prepared.progress.warn,
    )
    return Recorder(
        run if is_chief else None,
        plan,
        config,
        best,
        checkpoints,
        validate,
        prepared.history,
        prepared.progress,
        prepared.own.callbacks,
        page.draw,
    )


def _config_json(prepared: Prepared, best: Best) -> dict[str, Any]:
    task = prepared.task
    return {
        "options": prepared.config.to_json(),
        "data": prepared.data,
        "window": prepared.window,
        "group": prepared.group,
        "best": str(best),
        "task": task.name,
        "inputs": [each.name for each in task.inputs.values()],
        "target": task.target,
        "classes": list(task.classes),
        "class_weights": list(prepared.changes.class_weights),
        "own": prepared.own.recorded(),
        "rows": dataclasses.asdict(RowOptions.of_build(prepared.dataset.build_options)),
        "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
    }


def _continue(prepared: Prepared, plan: TrainingPlan, step: int) -> Iterator[str]:
    """Yield messages about the position and learning rate of a continued run."""
    config, previous, own = prepared.config, prepared.previous, prepared.own
    epoch, rest = divmod(step, plan.steps_per_epoch)
    yield f"continuing after epoch {epoch}{f', step {rest}' if rest else ''}"
    inner = inner_optimizer(plan.optimizer)
    is_constant = isinstance(inner.learning_rate, keras.Variable)
    if previous and is_constant and config.learning_rate != previous.options.learning_rate:
        # A checkpoint restores a constant rate, but not a schedule.
        inner.learning_rate = config.learning_rate or USUAL_LEARNING_RATE
    if previous and not (own.schedule or own.optimizer):
        yield from change_of_cosine(config, previous.options, plan.steps_per_epoch, step)


def _say_result(prepared: Prepared, recorder: Recorder, page: RunPage) -> None:
    run, history, progress = prepared.run, recorder.history, prepared.progress
    how_it_went, compared = page.sentences(history)
    progress.say(how_it_went)
    if compared:
        row = history[saved_place(history, recorder.best)]
        (progress.say if page.beats_guess(row) else progress.warn)(compared)
    for line in page.lowest_recalls():
        progress.say(line)
    progress.say(f"model: {run.model}{', the last one' if recorder.validate is None else ''}")
    if run.report.exists():
        progress.say(f"report: {address(str(run.report))}")
