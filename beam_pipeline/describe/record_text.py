"""Records as text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from beam_pipeline import kinds
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.value_forms import form_of
from tfrecord_dataset.shown_text import printable

_MAX_CHARACTERS = 80
_MAX_VALUES = 8


def in_short(value: float) -> str:
    """Return four digits of a number."""
    return f"{value:.4g}"


def as_stored(value: float) -> str:
    """Return the fewest digits that give the same float32."""
    return str(np.float32(value))


def as_text(
    example: Mapping[str, Any],
    features: Iterable[Feature] = (),
    float_text: Callable[[float], str] = as_stored,
) -> str:
    """Render an Example as aligned lines `key  value`; long values are cut, bytes show their size.

    For keys that `features` declare, arrays show their type and shape, audio its length.
    """
    keys = {key: printable(key, keeps="") for key in example}
    width = max(map(len, keys.values()), default=0)
    notes = {
        feature.key: kinds.named(feature).note(feature, example)
        for feature in features
        if feature.key in example
    }
    return "\n".join(
        f"{keys[key]:{width}}  {_values_text(value, float_text)}{notes.get(key, '')}"
        for key, value in example.items()
    )


def _values_text(values: Sequence[Any], float_text: Callable[[float], str]) -> str:
    texts = [_value_text(value, float_text) for value in values[:_MAX_VALUES]]
    more = f" … {len(values)} values" if len(values) > _MAX_VALUES else ""
    if len(values) == 1:
        return texts[0]
    return f"[{', '.join(texts)}{more}]"


def _value_text(value: Any, float_text: Callable[[float], str]) -> str:
    match value:
        case bytes():
            if not value:
                return ""
            text = value.decode() if form_of(value) == "text" else ""
            if not 0 < len(text) <= _MAX_CHARACTERS:
                return f"<{len(value):,} bytes>"
            return text if text.isprintable() else repr(text)  # one line
        case float():
            return float_text(value)
        case _:
            return str(value)
