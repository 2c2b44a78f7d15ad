"""Cross-validation: a run for each fold, and a run whose model averages theirs."""

import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tfrecord_dataset.json_file import read_object
from tfrecord_dataset.shown_text import number_text
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.progress import Progress
from trainer.report.history import Best, shown_metric
from trainer.runs import train as of_one
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.preparing import NOTHING_OWN, OwnParts
from trainer.runs.trained import load_model
from trainer.tasks.inputs import keras_inputs, single_or_dict
from trainer.tasks.task_json import task_to_json
from trainer.workers import read_workers


def train(
    given: Mapping[str, Any], dataset: Dataset | None = None, own: OwnParts = NOTHING_OWN
) -> Row:
    """Train like `runs.train.train`; with `folds` but no `fold`, one run for each fold.

    These are in folders of `output`, which is a run, too: its model averages theirs. Returns the
    means of their rows, and as `<metric>_std` the standard deviations of what they validated.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    folds = _num_folds(given)
    if folds is None:
        return of_one.train(given, dataset, own)
    if read_workers().count > 1:
        raise ConfigError("--folds trains on one machine; give each its own --fold and --output")
    progress = Progress(quiet=given.get("quiet", False))
    runs, rows = [], []
    for fold in range(1, folds + 1):
        progress.say(f"fold {fold} of {folds}")
        run = RunDirectory(os.path.join(given["output"], f"fold-{fold}"))
        rows.append(of_one.train({**given, "fold": fold, "output": str(run.path)}, dataset, own))
        runs.append(run)
    run = RunDirectory(given["output"])
    with run.held():
        _average(run, runs)
        means = _means(rows)
        run.write_history([means])
    best = Best.parse(run.read_config().best)
    metric = shown_metric(means, best.metric)
    name = f"val_{metric}"
    spread = {
        f"{each}_std": statistics.stdev(row[each] for row in rows)
        for each in means
        if each.startswith("val_")
    }
    mean, deviation = (number_text(each) for each in (means[name], spread[f"{name}_std"]))
    values = ", ".join(number_text(row[name]) for row in rows)
    progress.say(f"{folds} folds: {metric} {mean} ± {deviation} on validation ({values})")
    progress.say(f"model: {run.model}, the average of {folds}")
    return means | spread


def _num_folds(given: Mapping[str, Any]) -> int | None:
    """Return the number of folds, if all are to be trained: as given, or of the resumed run."""
    if given.get("fold") is not None:
        return None
    run, folds = RunDirectory(given["output"]), given.get("folds")
    if folds is None and given.get("resume") and run.holds_run():
        options = run.read_config().options
        return options.folds if options.fold is None else None
    return folds


def _means(rows: Sequence[Row]) -> Row:
    means = {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}
    return means | {name: round(means[name]) for name in ("epoch", "step")}


def _average(run: RunDirectory, runs: Sequence[RunDirectory]) -> None:
    """Write the models that average those of `runs`, and what describes them."""
    task, features = runs[0].read_task()  # equal for all
    inputs = single_or_dict(keras_inputs(task.inputs))
    for which in ("best", "last"):
        models = [load_model(each.trained_model(which), task, "train again") for each in runs]
        for number, model in enumerate(models, start=1):
            model.name = f"fold_{number}"
        averaged = task.goal.averaged([model(inputs) for model in models])
        file = run.model if which == "best" else run.last_model
        run.save_model(keras.Model(inputs, averaged, name="folds"), file)
    record = read_object(runs[0].config_file)
    record.pop("checksum", None)
    record["options"] |= {"output": str(run.path), "fold": None, "validation_share": 0.0}
    run.write_config(record, task_to_json(task, features))
