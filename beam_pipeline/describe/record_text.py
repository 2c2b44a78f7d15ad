"""Records as text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beam_pipeline import kinds
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.value_forms import form_of
from tfrecord_dataset.shown_text import printable

_MAX_CHARACTERS = 80
_MAX_VALUES = 8


def as_text(example: Mapping[str, Any], features: Iterable[Feature] = ()) -> str:
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
        f"{keys[key]:{width}}  {_values_text(value)}{notes.get(key, '')}"
        for key, value in example.items()
    )


def _values_text(values: Sequence[Any]) -> str:
    texts = [_value_text(value) for value in values[:_MAX_VALUES]]
    more = f" … {len(values)} values" if len(values) > _MAX_VALUES else ""
    if len(values) == 1:
        return texts[0]
    return f"[{', '.join(texts)}{more}]"


def _value_text(value: Any) -> str:
    match value:
        case bytes():
            if not value:
                return ""
            text = value.decode() if form_of(value) == "text" else ""
            if not 0 < len(text) <= _MAX_CHARACTERS:
                return f"<{len(value):,} bytes>"
            return text if text.isprintable() else repr(text)  # one line
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)
