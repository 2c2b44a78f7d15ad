"""What differs between two datasets, as text for a person and as JSON for a program."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.dataset.difference.datasets import Difference
from tfrecord_dataset.shown_text import counted, one_line, printable

_NAMES = 5
_CHARACTERS = 60


def as_text(found: Difference) -> str:
    """The differences, a line each; "" if there are none."""
    return "\n".join(map(one_line, _lines(found)))


def _lines(found: Difference) -> Iterator[str]:
    kinds: dict[str, tuple[int, Mapping[str, int]]] = {
        "added": (sum(found.added.values()), {f"in {each}": n for each, n in found.added.items()}),
        "removed": (
            sum(found.removed.values()),
            {f"in {each}": n for each, n in found.removed.items()},
        ),
        "changed": (found.changed, {f"in {each}": n for each, n in found.changed_keys.items()}),
        "renamed": (found.renamed, {}),
        "moved": (
            sum(found.moved.values()),
            {f"from {old} to {new}": n for (old, new), n in found.moved.items()},
        ),
    }
    for kind, (total, parts) in kinds.items():
        if total:
            yield f"{kind}: {counted(total, 'record')}{f' ({_some(parts)})' if parts else ''}"
            examples = found.examples[kind]
            more = ", …" if total > len(examples) else ""
            yield f"  {', '.join(printable(each, keeps='') for each in examples)}{more}"
    for name, changes in (("feature", found.features), ("option", found.options)):
        for each, (old, new) in changes.items():
            yield f"{name} {each}: {_value(old)} → {_value(new)}"
    for name, classes in found.classes.items():
        told = [
            f"{len(classes[kind]):,} {kind} ({_names(classes[kind])})"
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
    shown = [f"{count:,} {name}" for name, count in parts.items()]
    return ", ".join(shown[:_NAMES]) + (", …" if len(shown) > _NAMES else "")


def _names(names: Any) -> str:
    names = list(names)
    return ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")


def _value(value: Any) -> str:
    text = "none" if value in (None, "", []) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"


def as_json(found: Difference) -> str:
    """The differences as one object."""
    return json.dumps(
        {
            "old": found.old,
            "new": found.new,
            "equal": not found,
            "num_records": {split: list(both) for split, both in found.num_records.items()},
            "has_keys": found.has_keys,
            "added": dict(found.added),
            "removed": dict(found.removed),
            "changed": found.changed,
            "changed_keys": dict(found.changed_keys),
            "renamed": found.renamed,
            "moved": [
                {"from": old, "to": new, "num_records": number}
                for (old, new), number in found.moved.items()
            ],
            "examples": {kind: list(keys) for kind, keys in found.examples.items()},
            "features": found.features,
            "classes": found.classes,
            "options": found.options,
        },
        ensure_ascii=False,
    )
