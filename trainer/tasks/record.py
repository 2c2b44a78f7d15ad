"""A task as JSON: what evaluation, and a resumed run, need of one that was trained."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature
from trainer.tasks.inputs import INPUTS, Settings, input_type
from trainer.tasks.target_choice import choose_target, described
from trainer.tasks.targets import TARGETS, Numbers
from trainer.tasks.task import Task


def task_to_json(task: Task) -> dict[str, Any]:
    """All of a task, what it has learned of the train split included."""
    return {
        "name": task.name,
        "inputs": {
            name: {"kind": each.kind, **dataclasses.asdict(each)}  # type: ignore[call-overload]
            for name, each in task.inputs.items()
        },
        "target": {"kind": task.goal.kind, **dataclasses.asdict(task.goal)},  # type: ignore[call-overload]
        "sample_weight": task.sample_weight,
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
            raise ConfigError(
                f"{described(feature)} has shape {list(feature.shape)}, and the model was trained "
                f"on {each}; give data of the same features"
            )
    goal = choose_target(features, task.target, isinstance(task.goal, Numbers))
    if goal != task.goal:
        raise ConfigError(
            f"the target {described(features[task.target])} is not what the model was trained on, "
            f"{task.goal}; give data of the same features"
        )
    if goal.classes and goal.classes != task.classes:
        raise ConfigError(
            f"the data has the classes {', '.join(goal.classes)}, and the model knows "
            f"{', '.join(task.classes)}; give data of the same classes"
        )
