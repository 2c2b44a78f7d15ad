"""Entries of the registries that other packages add by entry points."""

import functools
from collections.abc import Collection, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from tfrecord_dataset.errors import ConfigError

_Part = TypeVar("_Part")


@functools.cache  # searches every installed package
def registered(group: str) -> Sequence[EntryPoint]:
    """Return the entry points of a group by name, such as "beam_tfrecords.layouts"."""
    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def added(group: str, kind: type[_Part], taken: Collection[str]) -> dict[str, _Part]:
    """Import the parts that other packages add to a registry, by name.

    Args:
        group: Group of entry points.
        kind: Type of the parts, whose attribute `name` is that of the entry point.
        taken: Names of this project's parts.

    Raises:
        ConfigError: An entry point cannot be imported, is of another type, or its name is taken.
    """
    parts: dict[str, _Part] = {}
    for entry in registered(group):
        if entry.name in taken or entry.name in parts:
            raise _error(entry, "the name is taken")
        try:
            part = entry.load()
        except Exception as error:  # importing another package's module may raise anything
            raise _error(entry, f"{type(error).__name__}: {error}") from error
        if not isinstance(part, kind) or getattr(part, "name", None) != entry.name:
            raise _error(entry, f"it is {part!r}, not a {kind.__name__} of this name")
        parts[entry.name] = part
    return parts


def _error(entry: EntryPoint, why: str) -> ConfigError:
    package = entry.dist.name if entry.dist else entry.value
    return ConfigError(
        f"{entry.name!r} of {entry.group} in the package {package} cannot be used: {why}; fix the "
        "package or uninstall it"
    )


def packages(*groups: str) -> set[str]:
    """Return the packages that add parts of these groups."""
    return {entry.module.partition(".")[0] for group in groups for entry in registered(group)}
