"""What differs between what two datasets state of their records: features, classes, options."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfrecord_dataset.feature import Feature

Changes = dict[str, list[Any]]
"""The old and the new value by name; None where there is none."""


def feature_changes(old: Mapping[str, Feature], new: Mapping[str, Feature]) -> Changes:
    """Features that only one has, by their name, and fields of others as `image.dtype`.

    Classes are told by `class_changes`.
    """
    changes: Changes = {}
    for name in sorted(old.keys() | new.keys()):
        before, after = (_fields(each.get(name)) for each in (old, new))
        if before and after:
            changes |= {f"{name}.{field}": both for field, both in _differing(before, after)}
        else:
            changes[name] = [before.get("kind"), after.get("kind")]
    return changes


def _fields(feature: Feature | None) -> dict[str, Any]:
    if feature is None:
        return {}
    return {name: value for name, value in feature.to_json().items() if name != "classes"}


def class_changes(
    old: Mapping[str, Feature], new: Mapping[str, Feature]
) -> dict[str, dict[str, Any]]:
    """By the features that both have: the classes that only one has, and others' new numbers.

    "added" and "removed" are names, "renumbered" the old and the new number by name.
    """
    changes = {}
    for name in sorted(old.keys() & new.keys()):
        before, after = (_numbers(each[name].classes) for each in (old, new))
        if before != after:
            common = [each for each in before if each in after]
            changes[name] = {
                "added": [each for each in after if each not in before],
                "removed": [each for each in before if each not in after],
                "renumbered": {
                    each: [before[each], after[each]]
                    for each in common
                    if before[each] != after[each]
                },
            }
    return changes


def _numbers(classes: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(classes)}


def option_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Changes:
    """Options that decide what a build writes, but its name, with parts as `image.max_side`."""
    return dict(_differing(_flat(old), _flat(new)))


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("image", "audio") and isinstance(value, Mapping):
            flat |= {f"{name}.{part}": each for part, each in value.items()}
        elif name not in ("name", "version"):
            flat[name] = value
    return flat


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for name in sorted(old.keys() | new.keys()):
        # An option from before it was, or that says nothing, is left out.
        if (old.get(name) or None) != (new.get(name) or None):
            yield name, [old.get(name), new.get(name)]
