"""The task on a dataset: by its schema, or as the user says."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature
from trainer.tasks import image_models
from trainer.tasks.input_choice import TABLE, inputs_by_schema, named_inputs
from trainer.tasks.inputs import Input, Settings
from trainer.tasks.inputs.audio import DEFAULT_SAMPLE_RATE
from trainer.tasks.target_choice import choose_target, described, shortened
from trainer.tasks.targets import Numbers, Target
from trainer.tasks.task import Task

AUTO = "auto"
_PICTURES = "classification"
_PICTURES_AND_MORE = "image_metadata"
_REGRESSION = "regression"
# What leads, by task; None where anything may.
_LEADERS = {
    _PICTURES: "image",
    _PICTURES_AND_MORE: "image",
    "audio_classification": "audio",
    "sequence_classification": "sequence",
    "text_classification": "text",
    "array_classification": "array",
    "tabular_classification": TABLE,
    _REGRESSION: None,
}
TASKS = tuple(_LEADERS)
# What Keras does not take in a layer's name.
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
    """The task called `name` on `features`, and why it is this one, in a line.

    Args:
        name: One of `TASKS`, or "auto" to go by the kinds of the features.
        features: The dataset's.
        target: The feature to learn; None for the class label, or what is called label,
            target or y.
        inputs: The features to learn from; None for the image, sound, sequence, text or
            array with the vectors of numbers beside it, else all numbers.
        sample_weight: The number that weighs each record's loss in training.
        settings: What else the user asks of inputs.

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
    taken = (goal.name, sample_weight)
    leader = _LEADERS.get(name)
    if inputs is not None:
        chosen = named_inputs(features, inputs, settings, taken)
    else:
        chosen = inputs_by_schema(features, leader, settings, taken)
        chosen = chosen[:1] if name == _PICTURES else chosen
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
    """The task that the schema is of."""
    if isinstance(goal, Numbers):
        return _REGRESSION
    groups = [each.group for each in inputs]
    if "image" in groups:
        return _PICTURES if len(groups) == 1 else _PICTURES_AND_MORE
    return next(
        (task for task, leader in _LEADERS.items() if leader in groups), "tabular_classification"
    )


def _check_suited(name: str, leader: str | None, inputs: Sequence[Input]) -> None:
    groups = [each.group for each in inputs]
    names = ", ".join(each.name for each in inputs)
    if leader is not None and leader not in groups:
        raise ConfigError(
            f"--task {name} learns from a feature of kind {leader!r}, and there is none among "
            f"the inputs {names}; name one, or another task"
        )
    if name == _PICTURES and len(groups) > 1:
        raise ConfigError(
            f"--task {name} learns from an image alone, and the inputs are {names}; use --task "
            f"{_PICTURES_AND_MORE}"
        )
    if name == _PICTURES_AND_MORE and len(groups) == 1:
        raise ConfigError(
            f"--task {name} learns from an image and more, and there is only {names}; name more "
            f"by --inputs, or use --task {_PICTURES}"
        )


def _check_settings(settings: Settings, inputs: Sequence[Input]) -> None:
    is_default = settings.image_model == image_models.SMALL and settings.weights is None
    if not is_default and "image" not in [each.group for each in inputs]:
        raise ConfigError(
            f"--model {settings.image_model} (or --weights) is for images, and there is none "
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
        raise UnknownNameError("number a record, for --sample-weight,", name, weights)
    if name not in weights:
        reason = "it is the target" if name == goal.name else _why_no_weight(features[name])
        others = f", or name another: {shortened(weights)}" if weights else ""
        raise ConfigError(
            f"--sample-weight {name}: {described(features[name])} is not one number a record, as "
            f"{reason}{others}"
        )


def _why_no_weight(feature: Feature) -> str | None:
    """Why a feature is no weight, and what to do about it; None where it is one."""
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
                "it is a sequence: missing in some records, or of other lengths; write one number "
                f"in each{declare if feature.bare else ''}"
            )
        case "tensor":
            return f"it has shape {list(feature.shape)}; write one number a record"
        case "class_label":
            return "its numbers are classes; declare it a scalar"
    return "it is no number; leave it out"


def _by_model_name(inputs: Iterable[Input]) -> dict[str, Input]:
    named: dict[str, Input] = {}
    for each in inputs:
        name = _ODD.sub("_", each.name)
        if name in named:
            raise ConfigError(
                f"the inputs {named[name].name!r} and {each.name!r} are both {name!r} to Keras; "
                "leave one out by --inputs"
            )
        named[name] = each
    return named


def _reason(name: str, task: Task, features: Mapping[str, Feature]) -> str:
    inputs = [features[each.name] for each in task.inputs.values()]
    used = {*task.features, task.sample_weight}
    left_out = [each for each in features.values() if each.name not in used]
    num_classes = len(task.classes)
    classes = f" of {num_classes} class{'es' * (num_classes > 1)}" if num_classes else ""
    parts = [
        f"from {_listed(inputs)} to {described(features[task.target])}{classes}, "
        f"{'by the schema' if name == AUTO else 'as --task says'}"
    ]
    if left_out:
        parts.append(f"left out: {_listed(left_out)}")
    parts += [
        f"{each.name} states no sample rate: {DEFAULT_SAMPLE_RATE} Hz is assumed"
        for each in inputs
        if each.kind == "audio" and not each.sample_rate
    ]
    return "; ".join(parts)


def _listed(features: Sequence[Feature]) -> str:
    return shortened([described(each) for each in features])
