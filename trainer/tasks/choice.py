"""Chooses the inputs and the target: by the dataset's schema and a sample, or as the user says."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.shared import AUTO
from trainer.options.train import TrainConfig
from trainer.tasks import image_models
from trainer.tasks.inputs import Input, input_type
from trainer.tasks.inputs.category import TextCategory
from trainer.tasks.inputs.image import check_images
from trainer.tasks.inputs.numbers import Date, Numbers
from trainer.tasks.table_columns import Column, ColumnKind
from trainer.tasks.targets import TARGETS, Target
from trainer.tasks.task import Task

# The value of --inputs that adds a table's columns to an image, audio or a text.
ALL = ("all",)
# The first of these kinds that a dataset has leads; without one the columns are a table.
_LEADERS = ("image", "audio", "sequence", "text", "array")
TABLE = "table"
# Texts of many words lead unless there are so many columns for each.
_COLUMNS_OF_TABLE = 5
_USUAL_NAMES = ("label", "target", "y")
_LEARNABLE = ("class_label", "scalar", "tensor", "text")
# What is where in an image: learned where nothing is said of the image as a whole.
_IN_IMAGES = [target for target in TARGETS.values() if target.leader is not None]
_SHOWN = 6


# Characters that Keras does not accept in the name of a layer.
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def choose_task(
    features: Mapping[str, Feature],
    options: TrainConfig,
    columns: Callable[[], Mapping[str, Column]] = dict,
) -> tuple[Task, str]:
    """The task on `features`, and what it uses and leaves out, in one line.

    Args:
        features: The dataset's.
        options: Those that name the task, the target, the inputs and the weight of records, or
            leave them to the features; and what they say of inputs and target.
        columns: Returns what a sample tells of scalars, texts and class labels, by name.

    Raises:
        UnknownNameError: No such feature.
        ConfigError: The features suit no task.
    """
    goal = choose_target(features, options.target, options.task)
    if options.sample_weight is not None:
        _check_weight(options.sample_weight, goal, features)
    not_inputs = (goal.name, options.sample_weight)
    takes_all = options.inputs == ALL and "all" not in features
    reasons: dict[str, str] = {}
    if options.inputs is not None and not takes_all:
        chosen = _named_inputs(features, options, not_inputs, columns)
    else:
        rest = {name: feature for name, feature in features.items() if name not in not_inputs}
        chosen = _inputs_by_schema(
            rest, goal.leader, options, columns, reasons, takes_all=takes_all
        )
    _check_options(options, chosen, goal)
    task = Task(
        name=goal.task_name([each.group for each in chosen]),
        inputs=_by_model_name(chosen),
        goal=goal.with_inputs(chosen, options),
        sample_weight=options.sample_weight,
        augment=goal.default_augment(chosen) if options.augment == AUTO else options.augment,
    )
    is_media = goal.leader is None and chosen[0].group in _LEADERS
    hint = " (--inputs all adds columns)" if options.inputs is None and is_media else ""
    return task, _reason(task, features, reasons, hint)


def _named_inputs(
    features: Mapping[str, Feature],
    options: TrainConfig,
    not_inputs: Iterable[str | None],
    columns: Callable[[], Mapping[str, Column]],
) -> list[Input]:
    """The inputs that the user names.

    Raises:
        UnknownNameError: No such feature.
        ConfigError: A feature is named twice, is the target or the weight, or no model takes it.
    """
    names = options.inputs or ()
    for name in names:
        if name not in features:
            raise UnknownNameError("feature to be an input", name, features)
        if name in not_inputs or names.count(name) > 1:
            raise ConfigError(
                f"--inputs {','.join(names)} names {name!r}, which is "
                f"{'the target or the weight' if name in not_inputs else 'named twice'}; leave it "
                "out"
            )
        if input_type(features[name]) is None:
            raise ConfigError(
                f"models cannot take {describe(features[name])}; leave it out of --inputs"
            )
    has_texts = any(TextCategory.suits(features[name]) for name in names)
    texts = columns() if has_texts else {}
    return [_input(features[name], options, texts.get(name)) for name in names]


def _inputs_by_schema(
    features: Mapping[str, Feature],
    leader: str | None,
    options: TrainConfig,
    columns: Callable[[], Mapping[str, Column]],
    reasons: dict[str, str],
    *,
    takes_all: bool,
) -> list[Input]:
    """The leading input with the vectors of numbers; or the columns of a table.

    Args:
        features: The dataset's, but for the target and the weight.
        leader: The only kind that the target takes; None for any.
        options: Of the training.
        columns: As for `choose_task`.
        reasons: Gets why columns are left out, by name.
        takes_all: Whether a table's columns join a leader.

    Raises:
        ConfigError: There is none, or there are several and none is named like its kind.
    """
    candidates = {
        name: kind.from_feature(feature, options)
        for name, feature in features.items()
        if (kind := input_type(feature)) is not None
    }
    if leader is not None:
        return [_lead(candidates, leader, features, ())]
    groups = {candidate.group for candidate in candidates.values()}
    first = next((group for group in _LEADERS if group in groups), TABLE)
    if first in ("text", "array", TABLE) or takes_all:
        table, unsuitable = _table(features, options, columns())
        reasons |= unsuitable
    else:
        table = {}
    if first == "text" and not _text_leads(candidates, table, reasons):
        first = "array" if "array" in groups else TABLE
    if first == TABLE:
        if not table:
            raise _no_input(first, features)
        return [*table.values()]
    names = [*table] or [
        name for name, candidate in candidates.items() if candidate.group == "numbers"
    ]
    leaders = {name: candidate for name, candidate in candidates.items() if name not in table}
    lead = _lead(leaders, first, features, names)
    reasons.pop(lead.name, None)
    joining = table if takes_all else {}
    vectors = {name: candidates[name] for name, feature in features.items() if _joins(feature)}
    return [lead, *(each for name, each in ({**vectors, **joining}).items() if name != lead.name)]


def _table(
    features: Mapping[str, Feature], options: TrainConfig, columns: Mapping[str, Column]
) -> tuple[dict[str, Input], dict[str, str]]:
    """The columns of a table that models learn from, by name, and why others are left out."""
    taken: dict[str, Input] = {}
    reasons: dict[str, str] = {}
    for name, feature in features.items():
        kind = input_type(feature)
        if kind is None or kind.from_feature(feature, options).group not in _OF_TABLES:
            continue
        column = columns.get(name, Column.unknown(feature))
        if column.kind.reason:
            reasons[name] = column.kind.reason
        else:
            taken[name] = _input(feature, options, column)
    return taken, reasons


_OF_TABLES = ("numbers", "category", "text")


def _text_leads(
    candidates: Mapping[str, Input], table: Mapping[str, Input], reasons: Mapping[str, str]
) -> bool:
    """Whether to learn from a text instead of a table's columns."""
    texts = [
        name
        for name, candidate in candidates.items()
        if candidate.group == "text" and name not in table
    ]
    long = [name for name in texts if reasons.get(name) == ColumnKind.TEXT.reason]
    return len(table) < _COLUMNS_OF_TABLE * len(long) or (bool(texts) and not table)


_OF_TEXTS: Mapping[ColumnKind, type[Input]] = {
    ColumnKind.DATE: Date,
    ColumnKind.CATEGORY: TextCategory,
}


def _input(feature: Feature, options: TrainConfig, column: Column | None) -> Input:
    """The input for a feature, by what a sample tells of its values."""
    kind = input_type(feature)
    assert kind is not None
    if column is not None and TextCategory.suits(feature):
        kind = _OF_TEXTS.get(column.kind, kind)
    return kind.from_feature(feature, options)


def _lead(
    candidates: Mapping[str, Input],
    group: str,
    features: Mapping[str, Feature],
    table: Sequence[str],
) -> Input:
    """The only one; or the one named like its kind, or the only one that is not of strings."""
    members = [candidate for candidate in candidates.values() if candidate.group == group]
    if not members:
        raise _no_input(group, features)
    of_numbers = [member for member in members if features[member.name].dtype != "string"]
    for some in (
        members,
        [member for member in members if member.name == member.group],
        of_numbers,
    ):
        if len(some) == 1:
            return some[0]
    names = shorten([describe(features[member.name]) for member in members])
    instead = f", such as all numbers: --inputs {','.join(table)}" if table else ""
    raise ConfigError(
        f"the dataset has several features of kind {group!r}: {names}; name those to learn from by "
        f"--inputs{instead}"
    )


def _no_input(group: str, features: Mapping[str, Feature]) -> ConfigError:
    names = _list_features(features) or "nothing else"
    return ConfigError(
        f"there is no input of kind {group!r}; the dataset has: {names}; name inputs by --inputs, "
        "or train on another dataset"
    )


def _joins(feature: Feature) -> bool:
    is_vector = feature.kind == "tensor" and len(feature.shape) == 1
    return is_vector and feature.dtype.startswith("float")


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
    """Raise UnknownNameError unless a feature is one number per record, and not the target."""
    weights = [
        feature.name
        for feature in features.values()
        if feature.name != goal.name and feature.kind == "scalar" and Numbers.suits(feature)
    ]
    if name not in weights:
        raise UnknownNameError("number per record, for --sample-weight,", name, weights)


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


def _reason(
    task: Task, features: Mapping[str, Feature], reasons: Mapping[str, str], hint: str
) -> str:
    """What the task uses and leaves out; `hint` says how to use more."""
    inputs = {each.name: features[each.name] for each in task.inputs.values()}
    used = {*task.features, task.sample_weight}
    left_out = [feature for feature in features.values() if feature.name not in used]
    num_classes = len(task.classes)
    classes = f" of {num_classes} class{'es' * (num_classes > 1)}" if num_classes else ""
    parts = [f"from {_list_features(inputs)} to {describe(features[task.target])}{classes}"]
    if left_out:
        words = [
            f"{each.name} ({reasons[each.name]})" if each.name in reasons else describe(each)
            for each in left_out
        ]
        parts.append(f"left out: {shorten(words)}{hint}")
    assumed = [each.assumed(features[each.name]) for each in task.inputs.values()]
    return "; ".join([*parts, *filter(None, assumed)])


def _list_features(features: Mapping[str, Feature]) -> str:
    return shorten([*map(describe, features.values())])


def choose_target(
    features: Mapping[str, Feature], name: str | None, task: str | None = None
) -> Target:
    """The target.

    Args:
        features: The dataset's.
        name: Of the feature; None for the only class label, or the one named label, else for
            the feature named label, target or y, else for the boxes or the map.
        task: What is learned of it, such as "regression"; None decides by the feature: fractions
            are numbers, whole numbers and strings are classes.

    Raises:
        UnknownNameError: No such feature.
        ConfigError: The feature is unsuitable, or there is none.
    """
    if name is not None and name not in features:
        raise UnknownNameError("feature for the target", name, features)
    kinds = [target for target in TARGETS.values() if task in (None, target.learns)]
    feature = features[name or _usual(_suiting(features, kinds, task))]
    suitable = {kind.learns: kind for kind in kinds if kind.suits(feature)}
    usual = "regression" if feature.dtype.startswith("float") else "classification"
    chosen = suitable.get(usual) or next(iter(suitable.values()), None)
    if chosen is None:
        wanted = f"--task {task} does not suit it" if task else "no task learns it"
        raise ConfigError(
            f"the target {describe(feature)}: {wanted}; choose another with --target, or declare a "
            "class_label, with shape [null] if records may have several"
        )
    return chosen.from_feature(feature)


def _suiting(
    features: Mapping[str, Feature], kinds: Sequence[type[Target]], task: str | None
) -> Mapping[str, Feature]:
    """The features that a task can learn."""
    suiting = {
        name: feature
        for name, feature in features.items()
        if task is None or any(kind.suits(feature) for kind in kinds)
    }
    if not suiting:
        raise ConfigError(
            f"--task {task} does not suit the dataset's features: {_list_features(features)}; "
            "leave it out, or train on another dataset"
        )
    return suiting


def describe(feature: Feature) -> str:
    """`caption (text)`, or with the dtype `age (scalar of int64)`."""
    has_dtype = feature.kind in ("scalar", "tensor", "sequence")
    return f"{feature.name} ({feature.kind}{f' of {feature.dtype}' if has_dtype else ''})"


def shorten(words: Sequence[str]) -> str:
    """The first words of a list: `a, b, 7 more`."""
    more = [f"{len(words) - _SHOWN} more"] if len(words) > _SHOWN else []
    return ", ".join([*words[:_SHOWN], *more])


def _usual(features: Mapping[str, Feature]) -> str:
    labels = [feature.name for feature in features.values() if feature.kind == "class_label"]
    if len(labels) == 1:
        return labels[0]
    learnable = [feature.name for feature in features.values() if feature.kind in _LEARNABLE]
    usual = [name for name in _USUAL_NAMES if name in (labels or learnable)]
    if usual:
        return usual[0]
    for kind in _IN_IMAGES:
        of_kind = [feature.name for feature in features.values() if kind.suits(feature)]
        if len(of_kind) == 1 and not labels:
            return of_kind[0]
    names = _list_features(features)
    if labels:
        raise ConfigError(
            f"the dataset has several class labels: {names}; choose one with --target"
        )
    raise ConfigError(
        f"no task suits the dataset's features: {names}; none is a class_label, or named label, "
        "target or y; choose the target with --target"
    )
