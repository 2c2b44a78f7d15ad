"""A task as JSON: what evaluation, and a resumed run, need of one that was trained."""

import dataclasses
import itertools
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature, feature_to_json, features_from_json
from trainer.tasks.inputs import INPUTS, Settings, input_type
from trainer.tasks.target_choice import choose_target, described
from trainer.tasks.targets import TARGETS, Numbers
from trainer.tasks.task import Task


def task_to_json(task: Task, features: Mapping[str, Feature]) -> dict[str, Any]:
    """All of a task, what it has learned of the train split included.

    Args:
        task: To be recorded.
        features: Of the data that it is trained on; those that it uses are recorded, too.
    """
    used = [*task.features, *([] if task.sample_weight is None else [task.sample_weight])]
    return {
        "name": task.name,
        "inputs": {
            name: {"kind": each.kind, **dataclasses.asdict(each)}  # type: ignore[call-overload]
            for name, each in task.inputs.items()
        },
        "target": {"kind": task.goal.kind, **dataclasses.asdict(task.goal)},  # type: ignore[call-overload]
        "sample_weight": task.sample_weight,
        "features": [feature_to_json(features[name]) for name in used],
    }


def task_from_json(record: Mapping[str, Any]) -> Task:
    """The task of which `task_to_json` made `record`."""
    return Task(
        name=record["name"],
        inputs={
            name: INPUTS[fields["kind"]](**_values(fields))
            for name, fields in record["inputs"].items()
        },
        goal=TARGETS[record["target"]["kind"]](**_values(record["target"])),
        sample_weight=record["sample_weight"],
    )


def recorded_features(
    record: Mapping[str, Any], names: Collection[str] | None = None
) -> Mapping[str, Feature]:
    """The features of which `task_to_json` made `record`; none in one of before they were kept.

    Args:
        record: What `task_to_json` made.
        names: Of those that are wanted; None for all.
    """
    features = features_from_json(record.get("features", ()))
    return MappingProxyType(
        {name: each for name, each in features.items() if names is None or name in names}
    )


def _values(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in fields.items()
        if name != "kind"
    }


def check_same_records(task: Task, features: Mapping[str, Feature], settings: Settings) -> None:
    """Raises ConfigError unless records with `features` are what the task was trained on.

    Args:
        task: That was trained.
        features: Of another dataset, or the same.
        settings: With which the task was chosen.
    """
    for each in task.inputs.values():
        if each.name not in features:
            raise UnknownNameError("feature, as the model takes it,", each.name, features)
        feature = features[each.name]
        if input_type(feature) is not type(each) or not each.takes(feature, settings):
            rate = f", {feature.sample_rate} samples a second" if feature.sample_rate else ""
            raise ConfigError(
                f"{described(feature)} has shape {list(feature.shape)}{rate}, and the model was "
                f"trained on {each.in_words}; give data of the same features"
            )
    goal = choose_target(features, task.target, isinstance(task.goal, Numbers))
    if goal != task.goal:
        raise ConfigError(
            f"the target {described(features[task.target])} is {goal.in_words}, and the model was "
            f"trained on {task.goal.in_words}; give data of the same features"
        )
    if goal.classes and goal.classes != task.classes:
        pairs = enumerate(itertools.zip_longest(goal.classes, task.classes))
        number, (found, known) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        raise ConfigError(
            f"the data has {len(goal.classes)} classes and the model {len(task.classes)}, of which "
            f"number {number} is {found!r} in the data and {known!r} to the model; give data of "
            "the same classes"
        )
