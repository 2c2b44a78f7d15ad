"""A task as JSON, for evaluation and resumed runs."""

import dataclasses
import itertools
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from trainer.errors import ConfigError, UnknownNameError
from trainer.schema.features import Feature, feature_to_json, features_from_json
from trainer.tasks.inputs import INPUTS, Settings, input_type
from trainer.tasks.target_choice import choose_target, describe
from trainer.tasks.targets import TARGETS, BoxesTarget, NumberTarget
from trainer.tasks.task import Task


def task_to_json(task: Task, features: Mapping[str, Feature]) -> dict[str, Any]:
    """A task as JSON, including its statistics of the train split.

    Args:
        task: The task.
        features: Of the training data; those that the task uses are included.
    """
    return {
        "name": task.name,
        "inputs": {
            name: {"kind": each.kind, **dataclasses.asdict(each)}  # type: ignore[call-overload]
            for name, each in task.inputs.items()
        },
        "target": {"kind": task.goal.kind, **dataclasses.asdict(task.goal)},  # type: ignore[call-overload]
        "sample_weight": task.sample_weight,
        "augment": task.augment,
        "features": [feature_to_json(features[name]) for name in task.training_features],
    }


def task_from_json(record: Mapping[str, Any]) -> Task:
    """The task from the JSON of `task_to_json`."""
    return Task(
        name=record["name"],
        inputs={
            name: INPUTS[fields["kind"]](**_values(fields))
            for name, fields in record["inputs"].items()
        },
        goal=TARGETS[record["target"]["kind"]](**_values(record["target"])),
        sample_weight=record["sample_weight"],
        augment=record.get("augment", "none"),
    )


def recorded_features(
    record: Mapping[str, Any], names: Collection[str] | None = None
) -> Mapping[str, Feature]:
    """The features in the JSON of `task_to_json`; none in that of older versions.

    Args:
        record: The JSON of `task_to_json`.
        names: Of the features to return; None for all.
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
    """Raises ConfigError unless `features` are those that the task was trained on.

    Args:
        task: The trained task.
        features: Of another dataset, or the same.
        settings: Those of the training.
    """
    check_same_inputs(task, features, settings)
    is_boxes = isinstance(task.goal, BoxesTarget)
    as_numbers = None if is_boxes else isinstance(task.goal, NumberTarget)
    goal = choose_target(features, task.target, as_numbers)
    if goal != task.goal:
        raise ConfigError(
            f"the target {describe(features[task.target])} is {goal.in_words}, but the model was "
            f"trained on {task.goal.in_words}; give data with the same features"
        )
    if goal.classes and goal.classes != task.classes:
        pairs = enumerate(itertools.zip_longest(goal.classes, task.classes))
        number, (data_class, model_class) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        raise ConfigError(
            f"the data has {len(goal.classes)} classes and the model {len(task.classes)}; "
            f"number {number} is {data_class!r} in the data and {model_class!r} in the model; give "
            "data with the same classes"
        )


def check_same_inputs(task: Task, features: Mapping[str, Feature], settings: Settings) -> None:
    """Raises ConfigError unless `features` have the inputs that the task was trained on."""
    for each in task.inputs.values():
        if each.name not in features:
            raise UnknownNameError("feature, which the model needs,", each.name, features)
        feature = features[each.name]
        if input_type(feature) is not type(each) or not each.takes(feature, settings):
            rate = f", {feature.sample_rate} samples per second" if feature.sample_rate else ""
            raise ConfigError(
                f"{describe(feature)} has shape {list(feature.shape)}{rate}, but the model was "
                f"trained on {each.in_words}; give data with the same features"
            )
