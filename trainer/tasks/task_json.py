"""A task as JSON, for evaluation and resumed runs."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.json_file import JsonError, typed
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train_options import TrainConfig
from trainer.tasks.choice import choose_target
from trainer.tasks.feature_roles import describe
from trainer.tasks.inputs import INPUTS
from trainer.tasks.targets import TARGETS
from trainer.tasks.task import Task


def task_to_json(task: Task, features: Mapping[str, Feature]) -> dict[str, Any]:
    """Convert a task to JSON, with its statistics of the train split and its features."""

    def part(each: Any) -> dict[str, Any]:
        return {"kind": each.kind, **dataclasses.asdict(each)}

    return {
        "name": task.name,
        "inputs": {name: part(each) for name, each in task.inputs.items()},
        "target": part(task.goal),
        "sample_weight": task.sample_weight,
        "augment": task.augment,
        "features": [features[name].to_json() for name in task.training_features],
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    name: str
    inputs: Mapping[str, Mapping[str, Any]]
    target: Mapping[str, Any]
    sample_weight: str | None
    augment: str
    features: Sequence[Any]


def task_from_json(record: Mapping[str, Any]) -> tuple[Task, Mapping[str, Feature]]:
    """Parse `task_to_json` to the task and its features by name, or raise JsonError."""
    stated = typed({name: record[name] for name in _NAMES if name in record}, _Stated)
    if not stated.inputs:
        raise JsonError("inputs is empty")
    inputs = {
        name: _part(fields, INPUTS, f"inputs.{name}") for name, fields in stated.inputs.items()
    }
    goal = _part(stated.target, TARGETS, "target")
    task = Task(
        name=stated.name,
        inputs=inputs,
        goal=goal,
        sample_weight=stated.sample_weight,
        augment=stated.augment,
    )
    if stated.augment not in goal.policies:
        raise JsonError(f"augment is {stated.augment!r}, not one of {', '.join(goal.policies)}")
    try:
        return task, features_from_json(stated.features)
    except ConfigError as error:
        raise JsonError(f"features: {error}") from error


_NAMES = [field.name for field in dataclasses.fields(_Stated)]


def _part(fields: Mapping[str, Any], kinds: Mapping[str, Any], place: str) -> Any:
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise JsonError(f"{place}.kind is {kind!r}, not one of {', '.join(kinds)}")
    values = {name: value for name, value in fields.items() if name != "kind"}
    return typed(values, kinds[kind], place)


def check_same_records(task: Task, features: Mapping[str, Feature], options: TrainConfig) -> None:
    """Raise ConfigError unless inputs and target equal the task's, trained with `options`."""
    check_same_inputs(task, features, options)
    goal = choose_target(features, task.target, task.goal.learns)
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


def check_same_inputs(task: Task, features: Mapping[str, Feature], options: TrainConfig) -> None:
    """Raise ConfigError unless `features` have the inputs of the training."""
    for each in task.inputs.values():
        if each.name not in features:
            raise UnknownNameError("feature, which the model needs,", each.name, features)
        feature = features[each.name]
        if not each.suits(feature) or each.from_feature(feature, options) != each:
            raise ConfigError(
                f"{describe(feature)} has shape {list(feature.shape)}, but the model was "
                f"trained on {each.in_words}; give data with the same features"
            )
