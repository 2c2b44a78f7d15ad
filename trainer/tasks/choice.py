"""Chooses the inputs and the target by the schema and a sample, unless the user names them."""

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NoReturn

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.shown_text import counted, listed
from trainer.errors import ConfigError, UnknownNameError
from trainer.options import AUTO
from trainer.options.train_options import TrainConfig
from trainer.task_kinds import CLASSIFICATION, REGRESSION
from trainer.tasks.feature_roles import (
    TARGET,
    WEIGHT,
    describe,
    describe_all,
    is_label,
    leading,
    suits,
)
from trainer.tasks.inputs import COLUMNS, LEADERS, Input, input_type
from trainer.tasks.inputs.image import check_images
from trainer.tasks.inputs.tabular import Date, TextCategory
from trainer.tasks.table_columns import ColumnKind, SampledColumn
from trainer.tasks.targets import TARGETS, Target
from trainer.tasks.task import Task

# The value of --inputs that adds a table's columns to an image, audio or a text.
ALL = ("all",)
_TABLE = "table"
_OF_TABLES = (*COLUMNS, "text")
_OF_TEXTS: Mapping[ColumnKind, type[Input]] = {
    ColumnKind.DATE: Date,
    ColumnKind.CATEGORY: TextCategory,
}
# Texts of many words lead unless the table has this many columns per text.
_COLUMNS_OF_TABLE = 5
# Columns of a table that a question lists.
_MOST_TARGETS = 20
# Characters that Keras does not accept in layer names.
_ODD = re.compile(r"[^A-Za-z0-9_.-]")

# Returns the sampled columns (scalars, texts and class labels) by name.
Columns = Callable[[], Mapping[str, SampledColumn]]


def choose_task(
    features: Mapping[str, Feature],
    options: TrainConfig,
    columns: Columns = dict,
    unknown: Collection[str] = (),
) -> tuple[Task, str]:
    """Choose the task for a dataset's features, and describe what it uses and leaves out.

    `unknown` are the numbers that a whole split lacks, as for `choose_target`.

    Raises:
        UnknownNameError: A named feature does not exist.
        ConfigError: The features suit no task.
    """
    goal = choose_target(features, options.target, options.task, unknown)
    if options.sample_weight is not None:
        others = {name: each for name, each in features.items() if name != goal.name}
        WEIGHT.stated(options.sample_weight, others)
    inputs = _Inputs(features, options, columns, (goal.name, options.sample_weight))
    takes_all = options.inputs == ALL and "all" not in features
    if options.inputs is None or takes_all:
        chosen = inputs.by_schema(goal.leader, takes_all=takes_all)
    else:
        chosen = inputs.named(options.inputs)
    _check_options(options, chosen, goal)
    task = Task(
        name=goal.task_name([each.group for each in chosen]),
        inputs=_by_model_name(chosen),
        goal=goal.with_inputs(chosen, options),
        sample_weight=options.sample_weight,
        augment=goal.default_augment(chosen) if options.augment == AUTO else options.augment,
    )
    is_media = goal.leader is None and chosen[0].group in LEADERS
    hint = " (--inputs all adds columns)" if options.inputs is None and is_media else ""
    return task, _reason(task, features, inputs.reasons, hint)


@dataclasses.dataclass
class _Inputs:
    """The choice of inputs.

    Attributes:
        features: Features of the dataset.
        options: Options of the training.
        columns: As for `choose_task`.
        not_inputs: Names of the target and the weight.
        reasons: Why columns of a table are left out, by name.
    """

    features: Mapping[str, Feature]
    options: TrainConfig
    columns: Columns
    not_inputs: tuple[str | None, ...]
    reasons: dict[str, str] = dataclasses.field(default_factory=dict)

    def named(self, names: Sequence[str]) -> list[Input]:
        """Return the inputs that the user names."""
        for name in names:
            if name not in self.features:
                raise UnknownNameError("feature to be an input", name, self.features)
            if name in self.not_inputs or names.count(name) > 1:
                wrong = "the target or the weight" if name in self.not_inputs else "named twice"
                raise ConfigError(
                    f"--inputs {','.join(names)} names {name!r}, which is {wrong}; leave it out"
                )
            if input_type(self.features[name]) is None:
                raise ConfigError(
                    f"models cannot take {describe(self.features[name])}; leave it out of --inputs"
                )
        has_texts = any(TextCategory.suits(self.features[name]) for name in names)
        texts = self.columns() if has_texts else {}
        return [self._input(self.features[name], texts.get(name)) for name in names]

    def by_schema(self, leader: str | None, *, takes_all: bool) -> list[Input]:
        """Choose the leading input with the vectors of numbers; or the columns of a table.

        `leader` is the only kind that the target accepts, or None. With `takes_all`, the columns
        of a table join a leading input.
        """
        candidates = {
            name: kind.from_feature(feature, self.options)
            for name, feature in self.features.items()
            if name not in self.not_inputs and (kind := input_type(feature)) is not None
        }
        if leader is not None:
            return [self._lead(candidates, leader)]
        groups = {candidate.group for candidate in candidates.values()}
        first = next((group for group in LEADERS if group in groups), _TABLE)
        has_table = first in ("text", "array", _TABLE) or takes_all
        table = self._table(candidates) if has_table else {}
        if first == "text" and not self._text_leads(candidates, table):
            first = "array" if "array" in groups else _TABLE
        if first == _TABLE:
            if not table:
                raise self._no_input(first)
            return [*table.values()]
        leaders = {name: each for name, each in candidates.items() if name not in table}
        numbers = [name for name, each in candidates.items() if each.group == "numbers"]
        lead = self._lead(leaders, first, [*table] or numbers)
        self.reasons.pop(lead.name, None)
        vectors = {
            name: each for name, each in candidates.items() if _is_vector(self.features[name])
        }
        return [lead, *(vectors | table if takes_all else vectors).values()]

    def _table(self, candidates: Mapping[str, Input]) -> dict[str, Input]:
        """Return the usable columns of a table by name."""
        taken: dict[str, Input] = {}
        columns = self.columns()
        for name, candidate in candidates.items():
            if candidate.group in _OF_TABLES:
                feature = self.features[name]
                column = columns.get(name, SampledColumn.unknown(feature))
                if column.kind.reason:
                    self.reasons[name] = column.kind.reason
                else:
                    taken[name] = self._input(feature, column)
        return taken

    def _text_leads(self, candidates: Mapping[str, Input], table: Mapping[str, Input]) -> bool:
        """Whether to learn from a text instead of a table's columns."""
        texts = {name for name, each in candidates.items() if each.group == "text"} - {*table}
        long = [name for name in texts if self.reasons.get(name) == ColumnKind.TEXT.reason]
        return len(table) < _COLUMNS_OF_TABLE * len(long) or (bool(texts) and not table)

    def _input(self, feature: Feature, column: SampledColumn | None) -> Input:
        """Make the input for a feature, given a sample of its values."""
        kind = input_type(feature)
        assert kind is not None
        if column is not None and TextCategory.suits(feature):
            kind = _OF_TEXTS.get(column.kind, kind)
        return kind.from_feature(feature, self.options)

    def _lead(
        self, candidates: Mapping[str, Input], group: str, table: Sequence[str] = ()
    ) -> Input:
        """Return the input of a group that `roles.leading` finds."""
        members = [candidate for candidate in candidates.values() if candidate.group == group]
        if not members:
            raise self._no_input(group)
        features = {each.name: self.features[each.name] for each in members}
        if (name := leading(group).find(features)) is not None:
            return candidates[name]
        names = describe_all(features)
        instead = f", such as all numbers: --inputs {','.join(table)}" if table else ""
        raise ConfigError(
            f"the dataset has several features of kind {group!r}: {names}; name those to learn "
            f"from by --inputs{instead}"
        )

    def _no_input(self, group: str) -> ConfigError:
        others = {name: each for name, each in self.features.items() if name not in self.not_inputs}
        return ConfigError(
            f"there is no input of kind {group!r}; the dataset has: "
            f"{describe_all(others) or 'nothing else'}; name inputs by --inputs, or train on "
            "another dataset"
        )


def _is_vector(feature: Feature) -> bool:
    is_vector = feature.kind == "tensor" and len(feature.shape) == 1
    return is_vector and feature.dtype.startswith("float")


def _check_options(options: TrainConfig, inputs: Sequence[Input], goal: Target) -> None:
    if options.augment not in (AUTO, "none"):
        check_images(f"--augment {options.augment}", inputs)
    varying = [each.name for each in inputs if each.varies] + [goal.name] * goal.varies
    for name in options.pad:
        if name not in varying:
            raise UnknownNameError("input of varying length, for --pad,", name, varying)


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
    """Describe what the task uses and leaves out; `hint` explains how to use more."""
    inputs = {each.name: features[each.name] for each in task.inputs.values()}
    classes = f" of {counted(len(task.classes), 'class')}" if task.classes else ""
    parts = [f"from {describe_all(inputs)} to {describe(features[task.target])}{classes}"]
    left_out = [
        f"{name} ({reasons[name]})" if name in reasons else describe(feature)
        for name, feature in features.items()
        if name not in {*task.features, task.sample_weight}
    ]
    if left_out:
        parts.append(f"left out: {listed(left_out)}{hint}")
    assumed = [each.assumed(features[each.name]) for each in task.inputs.values()]
    return "; ".join([*parts, *filter(None, assumed)])


def choose_target(
    features: Mapping[str, Feature],
    name: str | None,
    task: str | None = None,
    unknown: Collection[str] = (),
) -> Target:
    """Choose the target.

    Args:
        features: Features of the dataset.
        name: Name of the feature; None for the only class label, or the one named label, else
            the feature named label, target or y, else the boxes or the map, else the only one
            of `unknown`.
        task: Kind of task, such as "regression"; None decides by the feature: floats are numbers,
            integers and strings are classes.
        unknown: Numbers that a whole split lacks, such as the prices in the test set of a
            competition.

    Raises:
        UnknownNameError: The named feature does not exist.
        ConfigError: The feature is unsuitable, or there is none.
    """
    if name is not None and name not in features:
        raise UnknownNameError("feature for the target", name, features)
    kinds = [target for target in TARGETS.values() if task in (None, target.learns)]
    suiting = features
    if name is None and task is not None:
        suiting = {each: feature for each, feature in features.items() if _kinds_of(feature, kinds)}
    if task is not None and not suiting:
        raise ConfigError(
            f"--task {task} does not suit the dataset's features: {describe_all(features)}; "
            "leave it out, or train on another dataset"
        )
    feature = features[name or TARGET.find(suiting) or _only(unknown, suiting) or _asked(suiting)]
    suitable = {kind.learns: kind for kind in _kinds_of(feature, kinds)}
    usual = REGRESSION if feature.dtype.startswith("float") else CLASSIFICATION
    chosen = suitable.get(usual) or next(iter(suitable.values()), None)
    if chosen is None:
        wanted = f"--task {task} does not suit it" if task else "no task learns it"
        raise ConfigError(
            f"the target {describe(feature)}: {wanted}; choose another with --target, or declare a "
            "class_label, with shape [null] if records may have several"
        )
    return chosen.from_feature(feature)


def _kinds_of(feature: Feature, kinds: Iterable[type[Target]]) -> list[type[Target]]:
    return [kind for kind in kinds if suits(kind, feature)]


def _only(names: Collection[str], features: Mapping[str, Feature]) -> str | None:
    known = [name for name in names if name in features and features[name].kind == "scalar"]
    return known[0] if len(known) == 1 else None


def _asked(features: Mapping[str, Feature]) -> NoReturn:
    """Ask which feature is the target."""
    labels = {name: feature for name, feature in features.items() if is_label(feature)}
    if labels:
        raise ConfigError(
            f"the dataset has several class labels: {describe_all(labels)}; choose one with "
            "--target"
        )
    columns = [name for name, each in features.items() if each.kind in ("scalar", "text")]
    if not columns:
        raise ConfigError(
            f"no task suits the dataset's features: {describe_all(features)}; none is a "
            "class_label, or named label, target or y; choose the target with --target"
        )
    # Fractions first: a list that is cut still names the only number to predict.
    columns.sort(key=lambda name: not features[name].dtype.startswith("float"))
    more = [f"{len(columns) - _MOST_TARGETS} more"] if len(columns) > _MOST_TARGETS else []
    raise ConfigError(
        "no feature is a class_label, or named label, target or y; choose the target with "
        f"--target: {', '.join([*columns[:_MOST_TARGETS], *more])}"
    )
