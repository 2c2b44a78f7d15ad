"""Classes without a record in a split."""

from collections.abc import Iterator, Mapping
from typing import Any

_MOST_NAMES = 5

ClassCounts = Mapping[str, Mapping[str, int]]
"""Number of occurrences by split and class."""


def missing_classes(counts: ClassCounts) -> dict[str, list[str]]:
    """Return classes of other splits that a split lacks, by split; only splits that lack any."""
    present = {
        split: {name for name, count in classes.items() if count}
        for split, classes in counts.items()
    }
    everywhere = set().union(*present.values())
    missing = {split: sorted(everywhere - names) for split, names in present.items() if names}
    return {split: names for split, names in missing.items() if names}


def describe_missing(feature: str, missing: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield a sentence for each split with missing classes."""
    for split, names in missing.items():
        shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
        classes = "class" if len(names) == 1 else f"{len(names)} classes"
        yield f"{split} has no {feature} of {classes} {shown}"


def counts_of(feature: str, statistics: Mapping[str, Mapping[str, Any]]) -> ClassCounts:
    """Return a feature's counts from statistics.json."""
    stated = {split: facts.get(feature, {}) for split, facts in statistics.items()}
    return {split: facts["classes"] for split, facts in stated.items() if "classes" in facts}
