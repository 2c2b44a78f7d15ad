"""Classes that a split has no record of."""

from collections.abc import Iterator, Mapping
from typing import Any

_MOST_NAMES = 5

ClassCounts = Mapping[str, Mapping[str, int]]
"""By split and class, how often a class is there."""


def missing_classes(counts: ClassCounts) -> dict[str, list[str]]:
    """By split, the classes that other splits have and it has not; of splits that have any."""
    present = {
        split: {name for name, count in classes.items() if count}
        for split, classes in counts.items()
    }
    everywhere = set().union(*present.values())
    missing = {split: sorted(everywhere - names) for split, names in present.items() if names}
    return {split: names for split, names in missing.items() if names}


def describe_missing(feature: str, missing: Mapping[str, list[str]]) -> Iterator[str]:
    """A sentence for each split that `missing_classes` names."""
    for split, names in missing.items():
        shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
        classes = "class" if len(names) == 1 else f"{len(names)} classes"
        yield f"{split} has no {feature} of {classes} {shown}"


def counts_of(feature: str, statistics: Mapping[str, Mapping[str, Any]]) -> ClassCounts:
    """The counts of a feature in what statistics.json states by split and feature."""
    stated = {split: facts.get(feature, {}) for split, facts in statistics.items()}
    return {split: facts["classes"] for split, facts in stated.items() if "classes" in facts}
