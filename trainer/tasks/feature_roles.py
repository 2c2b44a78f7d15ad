"""The roles of features in a task: target, weight, leading input; each is found by its rules.

An option that names a feature decides, else the first rule that finds one.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.shown_text import listed
from trainer.errors import UnknownNameError
from trainer.tasks.inputs.tabular import Numbers
from trainer.tasks.targets import TARGETS, Target

_USUAL_TARGETS = ("label", "target", "y")
_LEARNABLE = ("class_label", "scalar", "tensor", "text")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRule:
    """A way to find a feature: by a usual name, or without usual names as the only one.

    Attributes:
        accepts: Whether a feature can have the role.
        usual: Usual names, the most usual first.
        is_last: Whether later rules are left out if this one accepts any feature.
    """

    accepts: Callable[[Feature], bool]
    usual: Sequence[str] = ()
    is_last: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRole:
    """A feature's part in a task.

    Attributes:
        what: Description for messages.
        option: Option that names the feature.
        rules: Rules by precedence.
    """

    what: str
    option: str
    rules: Sequence[FeatureRule]

    def stated(self, name: str, features: Mapping[str, Feature]) -> Feature:
        """Return the feature that the option names, or raise UnknownNameError."""
        known = [each for each, feature in features.items() if self._accepts(feature)]
        if name not in known:
            raise UnknownNameError(f"{self.what}, for {self.option},", name, known)
        return features[name]

    def find(self, features: Mapping[str, Feature]) -> str | None:
        """Return the name of the feature that the first rule finds; None if none does."""
        for rule in self.rules:
            accepted = [name for name, feature in features.items() if rule.accepts(feature)]
            named = [name for name in rule.usual if name in accepted]
            if named:
                return named[0]
            if len(accepted) == 1 and not rule.usual:
                return accepted[0]
            if accepted and rule.is_last:
                break
        return None

    def _accepts(self, feature: Feature) -> bool:
        return any(rule.accepts(feature) for rule in self.rules)


def is_label(feature: Feature) -> bool:
    """Whether a feature is a class label."""
    return feature.kind == "class_label"


def suits(kind: type[Target], feature: Feature) -> bool:
    """Whether a kind of target can be learned from a feature, which has values."""
    return 0 not in feature.shape and kind.suits(feature)


# Targets at places in an image are the default if no feature describes the image as a whole.
TARGET = FeatureRole(
    what="feature",
    option="--target",
    rules=(
        FeatureRule(accepts=is_label),
        FeatureRule(accepts=is_label, usual=_USUAL_TARGETS, is_last=True),
        FeatureRule(accepts=lambda feature: feature.kind in _LEARNABLE, usual=_USUAL_TARGETS),
        *(
            FeatureRule(accepts=functools.partial(suits, kind))
            for kind in TARGETS.values()
            if kind.leader is not None
        ),
    ),
)
WEIGHT = FeatureRole(
    what="number per record",
    option="--sample-weight",
    rules=(FeatureRule(accepts=lambda each: each.kind == "scalar" and Numbers.suits(each)),),
)


def leading(group: str) -> FeatureRole:
    """Return the role of the leading input among the features of a group."""

    def is_any(feature: Feature) -> bool:
        return True

    return FeatureRole(
        what=f"input of kind {group!r}",
        option="--inputs",
        rules=(
            FeatureRule(accepts=is_any),
            FeatureRule(accepts=is_any, usual=(group,)),
            FeatureRule(accepts=lambda each: each.dtype != "string"),
        ),
    )


def describe(feature: Feature) -> str:
    """Describe a feature: `caption (text)`, or with its dtype `age (scalar of int64)`."""
    has_dtype = feature.kind in ("scalar", "tensor", "sequence")
    return f"{feature.name} ({feature.kind}{f' of {feature.dtype}' if has_dtype else ''})"


def describe_all(features: Mapping[str, Feature]) -> str:
    """Describe the first of some features."""
    return listed([*map(describe, features.values())])
