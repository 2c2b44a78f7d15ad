"""Boosted trees of scikit-learn on a table, a reference for the metric of a model."""

import importlib.util
import time
from typing import Any

import numpy as np

from tfrecord_dataset.shown_text import number_text
from trainer.dataset import Dataset
from trainer.progress import time_text
from trainer.task_kinds import REGRESSION
from trainer.tasks.inputs import is_table
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.task import Task

# About ten seconds: records, and values of all records for each class; a tree for each class.
_MOST_RECORDS, _MOST_VALUES, _MOST_CLASSES = 200_000, 20_000_000, 20
_BATCH_SIZE = 1_024
_MOST_CATEGORIES = 255  # in scikit-learn; columns with more are numbers
PREFIX = "boosted_trees_"


def are_possible(task: Task) -> bool:
    """Whether scikit-learn is installed, and the task is a table with a number or few classes."""
    is_one = task.goal.has_one_class or task.goal.learns == REGRESSION
    suits = is_table(task.inputs) and is_one and task.num_outputs <= _MOST_CLASSES
    suits = suits and (task.goal.has_one_class or task.num_outputs == 1)
    return suits and importlib.util.find_spec("sklearn") is not None


def reference(
    task: Task, dataset: Dataset, train_split: str, split: str
) -> tuple[dict[str, float], str]:
    """Fit boosted trees to a split's first records; return metrics on another, and a line.

    They are at most 200,000, and fewer with many columns or classes. The trees have scikit-learn's
    defaults but for early stopping, and get the inputs of the model.
    """
    import threadpoolctl  # of scikit-learn, an extra
    from sklearn import ensemble

    started = time.monotonic()
    width = sum(each.shape[0] or 1 for each in task.inputs.values()) * task.num_outputs
    rows, target = _table(task, dataset, train_split, min(_MOST_RECORDS, _MOST_VALUES // width))
    are_categories = [
        each.group == "category" and rows[:, place].max(initial=0) < _MOST_CATEGORIES
        for place, each in enumerate(task.inputs.values())
        for _ in range(each.shape[0] or 1)
    ]
    kind, metric = ensemble.HistGradientBoostingRegressor, "mae"
    if task.goal.has_one_class:
        kind, metric = ensemble.HistGradientBoostingClassifier, "accuracy"
    # Early stopping would need at least two records of each class.
    settings = {"random_state": 0, "early_stopping": False, "categorical_features": are_categories}
    tested, wanted = _table(task, dataset, split, _MOST_RECORDS)
    with threadpoolctl.threadpool_limits(1):  # several wait for each other at 16 times the cost
        predicted = kind(**settings).fit(rows, target).predict(tested)
    errors = predicted == wanted if task.goal.has_one_class else np.abs(predicted - wanted)
    value = float(errors.mean())
    seconds = time_text(time.monotonic() - started)
    line = f"boosted trees: {metric} {number_text(value)} ({seconds})"
    return {f"{PREFIX}{metric}": value}, line


def _table(task: Task, dataset: Dataset, split: str, count: int) -> tuple[Any, Any]:
    """Read inputs, float64 [n, columns], and targets [n] of about `count` records of a split."""
    batches = evaluation_batches(task, dataset, split, batch_size=_BATCH_SIZE)
    most = batches.take(-(-count // _BATCH_SIZE)).as_numpy_iterator()
    parts = [
        (
            np.concatenate(
                [np.reshape(inputs[name], [len(target), -1]) for name in task.inputs], axis=1
            ),
            np.ravel(target),
        )
        for inputs, target in most
    ]
    rows, targets = zip(*parts, strict=True)
    return np.concatenate(rows).astype(np.float64), np.concatenate(targets)
