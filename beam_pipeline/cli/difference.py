"""What differs between two datasets, as text for a person and as JSON for a program."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.dataset.difference.datasets import Difference
from beam_pipeline.kinds.wording import first_names
from tfrecord_dataset.shown_text import counted, one_line, printable

_CHARACTERS = 60


def as_text(found: Difference) -> str:
    """The differences, a line each; "" if there are none."""
    return "\n".join(map(one_line, _lines(found)))


def _lines(found: Difference) -> Iterator[str]:
    parts_of: dict[str, Mapping[str, int]] = {
        "added": {f"in {each}": number for each, number in found.added.items()},
        "removed": {f"in {each}": number for each, number in found.removed.items()},
        "changed": {f"in {each}": number for each, number in found.changed_keys.items()},
        "renamed": {},
        "moved": {f"from {old} to {new}": number for (old, new), number in found.moved.items()},
    }
    totals = {"changed": found.changed, "renamed": found.renamed}
    for kind, parts in parts_of.items():
        if total := totals.get(kind, sum(parts.values())):
            yield f"{kind}: {counted(total, 'record')}{f' ({_some(parts)})' if parts else ''}"
            examples = found.examples[kind]
            more = ", …" if total > len(examples) else ""
            yield f"  {', '.join(printable(each, keeps='') for each in examples)}{more}"
    for name, changes in (("feature", found.features), ("option", found.options)):
        for each, (old, new) in changes.items():
            yield f"{name} {each}: {_value(old)} → {_value(new)}"
    for name, classes in found.classes.items():
        told = [
            f"{len(classes[kind]):,} {kind} ({first_names(classes[kind])})"
            for kind in ("added", "removed", "renumbered")
            if classes[kind]
        ]
        yield f"classes of {name}: {', '.join(told)}"
    if (found.added or found.removed) and not found.has_keys:
        yield (
            "note: these records have no keys, so that a changed one is removed and added; "
            "--key names the Example's key that tells them apart, such as image/filename"
        )


def _some(parts: Mapping[str, int]) -> str:
    return first_names(f"{count:,} {name}" for name, count in parts.items())


def _value(value: Any) -> str:
    text = "none" if value in (None, "", []) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"


def as_json(found: Difference) -> str:
    """The differences as one object."""
    moved = [
        {"from": old, "to": new, "num_records": number}
        for (old, new), number in found.moved.items()
    ]
    first = {"old": found.old, "new": found.new, "equal": not found}
    facts = first | dataclasses.asdict(found) | {"moved": moved}
    return json.dumps(facts, ensure_ascii=False)
