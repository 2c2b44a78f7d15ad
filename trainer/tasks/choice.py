"""Chooses the task: by the dataset's schema, or as the user says."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature
from trainer.tasks import image_models
from trainer.tasks.input_choice import TABLE, inputs_by_schema, named_inputs
from trainer.tasks.inputs import Input, Settings
from trainer.tasks.inputs.audio import DEFAULT_SAMPLE_RATE
from trainer.tasks.target_choice import choose_target, describe, shorten
from trainer.tasks.targets import NumberTarget, Target
from trainer.tasks.task import Task

AUTO = "auto"
_IMAGES = "classification"
_IMAGES_AND_NUMBERS = "image_metadata"
_REGRESSION = "regression"
# The leading kind of input, by task; None for any.
_LEADERS = {
    _IMAGES: "image",
    _IMAGES_AND_NUMBERS: "image",
    "audio_classification": "audio",
    "sequence_classification": "sequence",
    "text_classification": "text",
    "array_classification": "array",
    "tabular_classification": TABLE,
    _REGRESSION: None,
}
TASKS = tuple(_LEADERS)
# Characters that Keras does not accept in the name of a layer.
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def choose_task(
    name: str,
    features: Mapping[str, Feature],
    target: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    sample_weight: str | None = None,
    settings: Settings | None = None,
) -> tuple[Task, str]:
    """The task `name` on `features`, and the reason for the choice, in one line.

    Args:
        name: One of `TASKS`, or "auto" to go by the kinds of the features.
        features: The dataset's.
        target: The feature to predict; None for the class label, or the feature named label,
            target or y.
        inputs: The features to learn from; None for the image, audio, sequence, text or
            array, with the vectors of numbers; else all numbers.
        sample_weight: The number that weights each record's loss in training.
        settings: Of inputs.

    Raises:
        UnknownNameError: No such task or feature.
        ConfigError: The features do not suit the task, or, by "auto", any task.
    """
    if name not in (AUTO, *TASKS):
        raise UnknownNameError("task", name, (AUTO, *TASKS))
    settings = settings or Settings()
    goal = choose_target(features, target, {AUTO: None, _REGRESSION: True}.get(name, False))
    if sample_weight is not None:
        _check_weight(sample_weight, goal, features)
    not_inputs = (goal.name, sample_weight)
    leader = _LEADERS.get(name)
    if inputs is not None:
        chosen = named_inputs(features, inputs, settings, not_inputs)
    else:
        chosen = inputs_by_schema(features, leader, settings, not_inputs)
        chosen = chosen[:1] if name == _IMAGES else chosen
    _check_suited(name, leader, chosen)
    _check_settings(settings, chosen)
    task = Task(
        name=_name(chosen, goal) if name == AUTO else name,
        inputs=_by_model_name(chosen),
        goal=goal,
        sample_weight=sample_weight,
    )
    return task, _reason(name, task, features)


def _name(inputs: Sequence[Input], goal: Target) -> str:
    """The task for these inputs and this target."""
    if isinstance(goal, NumberTarget):
        return _REGRESSION
    groups = [each.group for each in inputs]
    if "image" in groups:
        return _IMAGES if len(groups) == 1 else _IMAGES_AND_NUMBERS
    return next(
        (task for task, leader in _LEADERS.items() if leader in groups), "tabular_classification"
    )


def _check_suited(name: str, leader: str | None, inputs: Sequence[Input]) -> None:
    groups = [each.group for each in inputs]
    names = ", ".join(each.name for each in inputs)
    if leader is not None and leader not in groups:
        raise ConfigError(
            f"--task {name} needs a feature of kind {leader!r}, but there is none among "
            f"the inputs {names}; name one, or another task"
        )
    if name == _IMAGES and len(groups) > 1:
        raise ConfigError(
            f"--task {name} learns only from an image, but the inputs are {names}; use --task "
            f"{_IMAGES_AND_NUMBERS}"
        )
    if name == _IMAGES_AND_NUMBERS and len(groups) == 1:
        raise ConfigError(
            f"--task {name} needs an image and more, but there is only {names}; name more inputs "
            f"by --inputs, or use --task {_IMAGES}"
        )


def _check_settings(settings: Settings, inputs: Sequence[Input]) -> None:
    is_default = settings.image_model == image_models.SMALL and settings.weights is None
    if not is_default and "image" not in [each.group for each in inputs]:
        raise ConfigError(
            f"--model {settings.image_model} (or --weights) needs an image, but there is none "
            f"among the inputs {', '.join(each.name for each in inputs)}; leave it out"
        )
    varying = [each.name for each in inputs if each.varies]
    for name in settings.lengths:
        if name not in varying:
            raise UnknownNameError("input of varying length, for --pad,", name, varying)


def _check_weight(name: str, goal: Target, features: Mapping[str, Feature]) -> None:
    weights = [
        each.name
        for each in features.values()
        if each.name != goal.name and _why_no_weight(each) is None
    ]
    if name not in features:
        raise UnknownNameError("number per record, for --sample-weight,", name, weights)
    if name not in weights:
        reason = "it is the target" if name == goal.name else _why_no_weight(features[name])
        others = f", or name another: {shorten(weights)}" if weights else ""
        raise ConfigError(
            f"--sample-weight {name}: {describe(features[name])} is not one number per record: "
            f"{reason}{others}"
        )


def _why_no_weight(feature: Feature) -> str | None:
    """Why a feature cannot be a weight, and what to do about it; None if it can."""
    if feature.dtype in ("string", "bytes"):
        return "it holds strings; leave it out"
    match feature.kind:
        case "scalar":
            return None
        case "sequence":
            scalar = {"kind": "scalar", "dtype": feature.dtype, "default": 1}
            declaration = json.dumps({feature.name: scalar}, ensure_ascii=False)
            declare = f", or declare the features by --schema, this one as {declaration}"
            return (
                "it is a sequence, missing in some records, or of other lengths; write one number "
                f"per record{declare if feature.bare else ''}"
            )
        case "tensor":
            return f"it has shape {list(feature.shape)}; write one number per record"
        case "class_label":
            return "its numbers are classes; declare it a scalar"
    return "it is not a number; leave it out"


def _by_model_name(inputs: Iterable[Input]) -> dict[str, Input]:
    by_name: dict[str, Input] = {}
    for each in inputs:
        name = _ODD.sub("_", each.name)
        if name in by_name:
            raise ConfigError(
                f"the inputs {by_name[name].name!r} and {each.name!r} are both named {name!r} in "
                "Keras; leave one out by --inputs"
            )
        by_name[name] = each
    return by_name


def _reason(name: str, task: Task, features: Mapping[str, Feature]) -> str:
    inputs = [features[each.name] for each in task.inputs.values()]
    used = {*task.features, task.sample_weight}
    left_out = [each for each in features.values() if each.name not in used]
    num_classes = len(task.classes)
    classes = f" of {num_classes} class{'es' * (num_classes > 1)}" if num_classes else ""
    parts = [
        f"from {_list_features(inputs)} to {describe(features[task.target])}{classes}, "
        f"{'by the schema' if name == AUTO else 'as --task says'}"
    ]
    if left_out:
        parts.append(f"left out: {_list_features(left_out)}")
    parts += [
        f"{each.name} has no stated sample rate: {DEFAULT_SAMPLE_RATE} Hz is assumed"
        for each in inputs
        if each.kind == "audio" and not each.sample_rate
    ]
    return "; ".join(parts)


def _list_features(features: Sequence[Feature]) -> str:
    return shorten([describe(each) for each in features])
