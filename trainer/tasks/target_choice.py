"""Chooses the target, and its kind: one class, several, or numbers."""

from collections.abc import Iterable, Mapping, Sequence

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError, UnknownNameError
from trainer.tasks.targets import TARGETS, Target

_USUAL_NAMES = ("label", "target", "y")
_LEARNABLE = ("class_label", "scalar", "tensor", "text")
# What is where in an image: learned where nothing is said of the image as a whole.
_IN_IMAGES = [each for each in TARGETS.values() if each.leader is not None]
_SHOWN = 6


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
    kinds = [each for each in TARGETS.values() if task in (None, each.learns)]
    feature = features[name or _usual(_suiting(features, kinds, task))]
    suitable = {each.learns: each for each in kinds if each.suits(feature)}
    usual = "regression" if feature.dtype.startswith("float") else "classification"
    found = suitable.get(usual) or next(iter(suitable.values()), None)
    if found is not None:
        return found.from_feature(feature)
    if task is not None:
        raise ConfigError(
            f"--task {task} does not suit {describe(feature)}; leave it out, or name another "
            "feature by --target"
        )
    for kind in kinds:
        if why := kind.why_not(feature):
            raise ConfigError(f"{describe(feature)} {why}; name another by --target")
    raise ConfigError(
        f"{describe(feature)} has no class to predict; declare it a class_label, with shape [null] "
        "if records may have several, or name another by --target"
    )


def _suiting(
    features: Mapping[str, Feature], kinds: Sequence[type[Target]], task: str | None
) -> Mapping[str, Feature]:
    """The features of which a task can be learned."""
    suiting = {
        name: each
        for name, each in features.items()
        if task is None or any(kind.suits(each) for kind in kinds)
    }
    if not suiting:
        names = shorten([*map(describe, features.values())])
        raise ConfigError(
            f"--task {task} does not suit the dataset's features: {names}; leave it out, or train "
            "on another dataset"
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
    labels = [each.name for each in features.values() if each.kind == "class_label"]
    if len(labels) == 1:
        return labels[0]
    usual = [name for name in _USUAL_NAMES if name in (labels or _learnable(features.values()))]
    if usual:
        return usual[0]
    for kind in _IN_IMAGES:
        of_kind = [each.name for each in features.values() if kind.suits(each)]
        if len(of_kind) == 1 and not labels:
            return of_kind[0]
    names = shorten([*map(describe, features.values())])
    if labels:
        raise ConfigError(f"the dataset has several class labels: {names}; name one by --target")
    raise ConfigError(
        f"no task suits the dataset's features: {names}; none is a class_label, or named label, "
        "target or y; name the target by --target"
    )


def _learnable(features: Iterable[Feature]) -> list[str]:
    return [each.name for each in features if each.kind in _LEARNABLE]
