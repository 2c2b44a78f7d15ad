"""Chooses the inputs and the target: by the dataset's schema, or as the user says."""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

from tfrecord_dataset.feature import Feature
from trainer.augmentation import AUTO
from trainer.errors import ConfigError, UnknownNameError
from trainer.tasks import image_models
from trainer.tasks.input_choice import inputs_by_schema, named_inputs
from trainer.tasks.inputs import Input, Settings, input_type
from trainer.tasks.inputs.image import check_images
from trainer.tasks.target_choice import choose_target, describe, shorten
from trainer.tasks.targets import Target
from trainer.tasks.task import Task

# Characters that Keras does not accept in the name of a layer.
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def choose_task(
    features: Mapping[str, Feature],
    target: str | None = None,
    *,
    task: str | None = None,
    inputs: Sequence[str] | None = None,
    sample_weight: str | None = None,
    settings: Settings | None = None,
) -> tuple[Task, str]:
    """The task on `features`, and what it uses and leaves out, in one line.

    Args:
        features: The dataset's.
        target: The feature to predict; None for the class label, or the feature named label,
            target or y, or the boxes, or the map of classes.
        task: What is learned: "classification", "regression", "detection", "segmentation"; None
            goes by the target's kind.
        inputs: The features to learn from; None for the image, audio, sequence, text or
            array, with the vectors of numbers; else all numbers.
        sample_weight: The number that weights each record's loss in training.
        settings: Of inputs.

    Raises:
        UnknownNameError: No such feature.
        ConfigError: The features suit no task.
    """
    settings = settings or Settings()
    goal = choose_target(features, target, task)
    settings = _with_resize(settings, goal)
    if sample_weight is not None:
        _check_weight(sample_weight, goal, features)
    not_inputs = (goal.name, sample_weight)
    if inputs is not None:
        chosen = named_inputs(features, inputs, settings, not_inputs)
    else:
        chosen = inputs_by_schema(features, goal.leader, settings, not_inputs)
        chosen = chosen if goal.leader is None else chosen[:1]
    _check_settings(settings, chosen, goal)
    chosen_task = Task(
        name=goal.task_name([each.group for each in chosen]),
        inputs=_by_model_name(chosen),
        goal=goal.with_inputs(chosen, settings),
        sample_weight=sample_weight,
        augment=settings.augment,
        multi_scale=settings.multi_scale,
    )
    return chosen_task, _reason(chosen_task, features)


def _with_resize(settings: Settings, goal: Target) -> Settings:
    if settings.resize == AUTO:
        return dataclasses.replace(settings, resize=goal.resizes[0])
    if settings.resize not in goal.resizes:
        raise ConfigError(
            f"--resize {settings.resize} is for boxes, but the target {goal.name!r} is "
            f"{goal.in_words}; leave it out"
        )
    return settings


def _check_settings(settings: Settings, inputs: Sequence[Input], goal: Target) -> None:
    is_default = settings.image_model == image_models.SMALL and settings.weights is None
    if not is_default:
        check_images(f"--model {settings.image_model} (or --weights)", inputs)
    if settings.dice and not goal.makes_maps:
        raise ConfigError(
            f"--dice is for maps of classes, but the target {goal.name!r} is {goal.in_words}; "
            "leave it out"
        )
    if settings.augment not in (AUTO, "none"):
        check_images(f"--augment {settings.augment}", inputs)
    if settings.multi_scale is not None:
        check_images(f"--multi-scale {settings.multi_scale:g}", inputs)
    varying = [each.name for each in inputs if each.varies]
    varying += [goal.name] if goal.varies else []
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
