"""Warnings about a training's data, one line each, before the first step."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.shown_text import counted, listed
from trainer.dataset import Dataset
from trainer.tasks.baselines import UNEVEN
from trainer.tasks.inputs import COLUMNS
from trainer.tasks.inputs.tabular import Numbers
from trainer.tasks.table_columns import ColumnKind, SampledColumn, sample_columns
from trainer.tasks.task import Task

_FEWEST_OF_CLASS = 10
# Smaller samples are not checked.
_FEWEST_SAMPLED = 20
_SAME = 0.999  # rank correlation of columns that differ by unit, scale or rounding only
# An outlier in deviations from the mean; fewer distinct values have none.
_FAR, _FEWEST_DISTINCT = 20, 10


def warnings(
    task: Task,
    splits: tuple[str, str | None],
    columns: Callable[[], Mapping[str, SampledColumn]],
    counts: Callable[[str], Counter[str] | None],
    *,
    own_model: bool,
) -> Iterator[str]:
    """Yield problems that keep a model from learning, or make it useless once it is deployed.

    `splits` are the train and validation splits; `columns` returns the sampled columns of the
    train split by name, `counts` the `class_counts` of a split.
    """
    if splits[0] == splits[1]:
        yield (
            f"training and validation are both on {splits[0]!r}, which hides overfitting; name "
            "another split with --validation-split"
        )
    yield from _of_numbers(task, own_model=own_model)
    if task.goal.excludes_classes and len(task.classes) == 1:
        yield f"{task.target} has only one class: there is nothing to predict"
    yield from _few_of_classes(task, splits, counts)
    tabular = [each.name for each in task.inputs.values() if each.group in COLUMNS]
    known = columns() if tabular else {}
    inputs = {name: known[name] for name in tabular if name in known}
    constant = [name for name, column in inputs.items() if _is_constant(column)]
    if constant:
        yield f"the same value in all records: {listed(constant)}"
    outliers = [f"{name} ({far:g})" for name, column in inputs.items() for far in _far(column)]
    if outliers:
        yield (
            f"numbers far from all others, perhaps codes for a missing one: {listed(outliers)}; "
            "leave such cells of the table empty"
        )
    target = known.get(task.target)
    same = [
        name
        for name, column in inputs.items()
        if target and _tells(column, target, are_numbers=not task.goal.excludes_classes)
    ]
    if same:
        yield (
            f"target {task.target} is determined by one input: {listed(same)}; leave out inputs "
            "that are unknown at prediction time with --inputs"
        )


def _of_numbers(task: Task, *, own_model: bool) -> Iterator[str]:
    numbers = [each for each in task.inputs.values() if isinstance(each, Numbers)]
    missing = {number.name: max(number.missing) for number in numbers if any(number.missing)}
    if missing:
        by_trainer = "a middle value replaces them and an additional input marks them"
        what = "the model of --model-fn has to handle them" if own_model else by_trainer
        most = counted(max(missing.values()), "record")
        yield f"missing numbers (NaN) of {listed([*missing])} in up to {most}: {what}"


def shares_of_classes(task: Task, counts: Counter[str]) -> str:
    """Describe the classes of a split by their shares, the most frequent first."""
    shares = [f"{name} {count / counts.total():.1%}" for name, count in counts.most_common()]
    text = f"classes of {task.target}: {listed(shares)}"
    if is_uneven(counts):
        text += "; rare classes count more (--class-weights none: all alike)"
    return text


def is_uneven(counts: Counter[str]) -> bool:
    """Whether one class has at least four of five records, so that guessing it looks good."""
    return len(+counts) > 1 and max(counts.values()) >= UNEVEN * counts.total()


def _few_of_classes(
    task: Task,
    splits: tuple[str, str | None],
    counts_of: Callable[[str], Counter[str] | None],
) -> Iterator[str]:
    if not task.goal.has_one_class or len(task.classes) < 2:
        return
    for split in filter(None, splits):
        counts = counts_of(split)
        if counts is None:
            continue
        least = _FEWEST_OF_CLASS if split == splits[0] else 1
        few = [name for name in task.classes if counts[name] < least]
        if few and least == 1:
            yield f"{split} has no records of {counted(len(few), 'class')}: {listed(few)}"
        elif few:
            shown = listed([f"{name} ({counts[name]})" for name in few])
            yield f"fewer than {least} records of a class in {split}: {shown}"


def class_counts(task: Task, dataset: Dataset, split: str) -> Counter[str] | None:
    """Count the records of each class; None if not stated and too many to read, or no classes."""
    if not task.goal.has_one_class:
        return None
    facts = {} if split in dataset.parts else dataset.statistics(split).get(task.target, {})
    if stated := facts.get("classes") or facts.get("strings"):
        return Counter(stated)
    labels = dataset.labels(split, task.target)
    if labels is not None:
        by_class = np.bincount(labels[labels >= 0], minlength=len(task.classes)).tolist()
        return Counter({name: n for name, n in zip(task.classes, by_class, strict=True) if n})
    feature = dataset.features[task.target]
    column = sample_columns(dataset, split, [task.target]).get(task.target)
    if column is None or len(column.values) < dataset.num_records(split):
        return None
    offset = feature.label_offset or 0
    numbers = [
        task.goal.number_of(each if isinstance(each, bytes) else each - offset)
        for each in column.values
        if each is not None
    ]
    return Counter(task.classes[number] for number in numbers if 0 <= number < len(task.classes))


def _far(column: SampledColumn) -> Iterator[float]:
    """Yield a column's ends that are outliers, or repeat beyond a gap wider than all the rest."""
    if column.kind is not ColumnKind.NUMBER:
        return
    values = np.array([value for value in column.values if value is not None], np.float64)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < _FEWEST_DISTINCT:
        return
    for end, neighbour, other in ((0, 1, -1), (-1, -2, 0)):
        gap, rest = (
            abs(distinct[end] - distinct[neighbour]),
            abs(distinct[neighbour] - distinct[other]),
        )
        is_code = counts[end] > 1 and gap > rest
        if is_code or abs(distinct[end] - values.mean()) > _FAR * values.std():
            yield distinct[end]


def _ranks(values: Sequence[float]) -> Any:
    """Return the ranks of numbers, equal ones with their mean rank."""
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[numbers]


def _is_constant(column: SampledColumn) -> bool:
    return len(column.values) >= _FEWEST_SAMPLED and len(set(column.values)) == 1


def _tells(column: SampledColumn, target: SampledColumn, *, are_numbers: bool) -> bool:
    """Whether an input and the target determine each other."""
    pairs = [pair for pair in zip(column.values, target.values, strict=True) if None not in pair]
    given, wanted = zip(*pairs, strict=True) if pairs else ((), ())
    num_given, num_wanted = len(set(given)), len(set(wanted))
    if len(pairs) < _FEWEST_SAMPLED or min(num_given, num_wanted) < 2:
        return False
    if are_numbers and not any(isinstance(value, bytes) for value in pairs[0]):
        return bool(abs(np.corrcoef(_ranks(given), _ranks(wanted))[0, 1]) > _SAME)
    repeats = 2 * num_given <= len(pairs)
    return repeats and len(set(pairs)) == num_given == num_wanted
