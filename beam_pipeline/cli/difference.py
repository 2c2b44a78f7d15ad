"""Differences between two datasets as text."""

import json
from collections.abc import Iterator
from typing import Any

from beam_pipeline.dataset.difference import CHANGES, Difference
from beam_pipeline.kinds.wording import brief
from tfrecord_dataset.shown_text import counted, one_line, printable

_TITLES = {"content": "changed content", "annotation": "changed annotation"}


def as_text(difference: Difference) -> str:
    """Render the differences, one per line; "" if there are none."""
    return "\n".join(map(one_line, _lines(difference)))


def _lines(difference: Difference) -> Iterator[str]:
    for name in CHANGES:
        if counts := getattr(difference, name):
            total = sum(counts.values())
            parts = ", ".join(f"{count:,} {split}" for split, count in counts.items())
            yield f"{_TITLES.get(name, name)}: {counted(total, 'record')} ({parts})"
            examples = difference.examples[name]
            more = ", …" if total > len(examples) else ""
            yield f"  {', '.join(printable(example, keeps='') for example in examples)}{more}"
    for title, changes in (("feature", difference.features), ("option", difference.options)):
        for name, (old, new) in changes.items():
            yield f"{title} {name}: {_value(old)} → {_value(new)}"


def _value(value: Any) -> str:
    return brief("none" if value is None else json.dumps(value, ensure_ascii=False))
