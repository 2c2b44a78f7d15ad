"""Chooses the inputs: a leading feature, and vectors of numbers in addition."""

from collections.abc import Iterable, Mapping, Sequence

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train import TrainConfig
from trainer.tasks.inputs import Input, input_type
from trainer.tasks.target_choice import describe, shorten

# The first of these kinds that a dataset has leads. Numbers without one are a table.
_LEADERS = ("image", "audio", "sequence", "text", "array")
TABLE = "numbers"


def named_inputs(
    features: Mapping[str, Feature], options: TrainConfig, not_inputs: Iterable[str | None]
) -> list[Input]:
    """The inputs that the user names.

    Args:
        features: The dataset's.
        options: Of the training, with names of features.
        not_inputs: The target, and the weight or None.

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
    return _inputs([features[name] for name in names], options)


def inputs_by_schema(
    features: Mapping[str, Feature],
    leader: str | None,
    options: TrainConfig,
    not_inputs: Iterable[str | None],
) -> list[Input]:
    """The leading input, and vectors of numbers in addition; else all numbers.

    Args:
        features: The dataset's.
        leader: The leading kind: "image", "audio", "sequence", "text", "array" or "numbers";
            None for the first of them that the dataset has.
        options: Of the training.
        not_inputs: The target, and the weight or None.

    Raises:
        ConfigError: There is none, or there are several and none is named like its kind.
    """
    rest = {name: each for name, each in features.items() if name not in not_inputs}
    candidates = _inputs(rest.values(), options)
    groups = [each.group for each in candidates]
    leader = leader or next((group for group in _LEADERS if group in groups), TABLE)
    members = [each for each in candidates if each.group == leader]
    names = shorten([*map(describe, rest.values())]) or "nothing else"
    if not members:
        raise ConfigError(
            f"there is no input of kind {leader!r}; the dataset has: {names}; name inputs "
            "by --inputs, or train on another dataset"
        )
    if leader == TABLE:
        return members
    lead = _lead(members, features, [each.name for each in candidates if each.group == TABLE])
    return [lead, *(each for each in candidates if _joins(features[each.name]))]


def _lead(
    members: Sequence[Input], features: Mapping[str, Feature], numbers: Sequence[str]
) -> Input:
    """The only one; or the one named like its kind, or the only one that is not of strings."""
    of_numbers = [each for each in members if features[each.name].dtype != "string"]
    for some in (members, [each for each in members if each.name == each.group], of_numbers):
        if len(some) == 1:
            return some[0]
    names = shorten([describe(features[each.name]) for each in members])
    table = f", such as all numbers: --inputs {','.join(numbers)}" if numbers else ""
    raise ConfigError(
        f"the dataset has several features of kind {members[0].group!r}: {names}; name those to "
        f"learn from by --inputs{table}"
    )


def _joins(feature: Feature) -> bool:
    return (
        feature.kind == "tensor" and len(feature.shape) == 1 and feature.dtype.startswith("float")
    )


def _inputs(features: Iterable[Feature], options: TrainConfig) -> list[Input]:
    return [
        kind.from_feature(feature, options)
        for feature in features
        if (kind := input_type(feature)) is not None
    ]
