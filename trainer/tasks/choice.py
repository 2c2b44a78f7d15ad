"""Chooses the inputs and the target: by the dataset's schema, or as the user says."""

import re
from collections.abc import Iterable, Mapping, Sequence

from tfrecord_dataset.format.feature import Feature
from trainer.augmentation import AUTO
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train import TrainConfig
from trainer.tasks import image_models
from trainer.tasks.input_choice import inputs_by_schema, named_inputs
from trainer.tasks.inputs import Input, input_type
from trainer.tasks.inputs.image import check_images
from trainer.tasks.target_choice import choose_target, describe, shorten
from trainer.tasks.targets import Target
from trainer.tasks.task import Task

# Characters that Keras does not accept in the name of a layer.
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def choose_task(features: Mapping[str, Feature], options: TrainConfig) -> tuple[Task, str]:
    """The task on `features`, and what it uses and leaves out, in one line.

    Args:
        features: The dataset's.
        options: Those that name the task, the target, the inputs and the weight of records, or
            leave them to the features; and what they say of inputs and target.

    Raises:
        UnknownNameError: No such feature.
        ConfigError: The features suit no task.
    """
    goal = choose_target(features, options.target, options.task)
    if options.sample_weight is not None:
        _check_weight(options.sample_weight, goal, features)
    not_inputs = (goal.name, options.sample_weight)
    if options.inputs is not None:
        chosen = named_inputs(features, options, not_inputs)
    else:
        chosen = inputs_by_schema(features, goal.leader, options, not_inputs)
        chosen = chosen if goal.leader is None else chosen[:1]
    _check_options(options, chosen, goal)
    is_mirrored = options.augment == AUTO and goal.may_be_mirrored(chosen)
    task = Task(
        name=goal.task_name([each.group for each in chosen]),
        inputs=_by_model_name(chosen),
        goal=goal.with_inputs(chosen, options),
        sample_weight=options.sample_weight,
        augment="flip" if is_mirrored else options.augment,
    )
    return task, _reason(task, features)


def _check_options(options: TrainConfig, inputs: Sequence[Input], goal: Target) -> None:
    if options.model != image_models.SMALL or options.weights is not None:
        check_images(f"--model {options.model} (or --weights)", inputs)
    if options.augment not in (AUTO, "none"):
        check_images(f"--augment {options.augment}", inputs)
    varying = [each.name for each in inputs if each.varies] + [goal.name] * goal.varies
    for name in options.pad:
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
    return (input_type(feature) or Input).why_no_weight(feature)


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


def _reason(task: Task, features: Mapping[str, Feature]) -> str:
    inputs = [features[each.name] for each in task.inputs.values()]
    used = {*task.features, task.sample_weight}
    left_out = [each for each in features.values() if each.name not in used]
    num_classes = len(task.classes)
    classes = f" of {num_classes} class{'es' * (num_classes > 1)}" if num_classes else ""
    parts = [f"from {_list_features(inputs)} to {describe(features[task.target])}{classes}"]
    if left_out:
        parts.append(f"left out: {_list_features(left_out)}")
    assumed = [each.assumed(features[each.name]) for each in task.inputs.values()]
    return "; ".join([*parts, *filter(None, assumed)])


def _list_features(features: Sequence[Feature]) -> str:
    return shorten([describe(each) for each in features])
