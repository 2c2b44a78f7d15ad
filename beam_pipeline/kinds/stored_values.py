"""Summaries of the lists in existing Examples, of one record and over many."""

import functools
from collections.abc import Sequence
from typing import Any

from beam_pipeline.records import ListSummary, Value

IMAGE_FORMS = frozenset({"jpeg", "png", "bmp", "gif"})
AUDIO_FORMS = frozenset({"wav", "flac", "ogg"})

_LABELS = frozenset(
    {"label", "labels", "class", "class_id", "class_label", "category", "category_id"}
    | {"target", "y"}
)
# A larger number is an id, not a class.
MAX_CLASS = 9_999

# Of a longer text only the length is kept.
_SHORT_CHARACTERS = 100
# The control characters of ASCII other than white space (\t \n \v \f \r).
_CONTROLS = bytes([*range(9), *range(14, 32), 127])


@functools.lru_cache(maxsize=4096)
def is_label_key(key: str) -> bool:
    """Whether numbers under `key` may be classes, by its name."""
    last = last_part(key)
    return last in _LABELS or last.endswith(("_label", "_class"))


def last_part(key: str) -> str:
    """The part of `key` after the last slash, in lower case."""
    return key.rpartition("/")[2].lower()


def summary(kind: str, values: Sequence[Any]) -> Value:
    """The summary of a list in an Example.

    Args:
        kind: "int64", "float32", "bytes", or "" if none is set.
        values: The list.
    """
    length = len(values)
    if kind == "bytes":
        return _of_bytes(values[0]) if length == 1 else ListSummary(kind=kind, length=length)
    if length == 1 and kind:
        number: int | float = values[0]
        return number
    known = [each for each in values if each == each]  # not NaN
    return ListSummary(
        kind=kind,
        length=length,
        minimum=min(known, default=None),
        maximum=max(known, default=None),
    )


def _of_bytes(value: bytes) -> Value:
    form = form_of(value)
    text = value.decode() if form == "text" else ""
    if 0 < len(text) <= _SHORT_CHARACTERS:
        return text
    return ListSummary(
        kind="bytes",
        length=1,
        form=form,
        num_bytes=len(value),
        num_characters=len(text),
    )


def form_of(value: bytes) -> str:
    """The form of a value, by its first bytes; see `ListSummary.form`."""
    match value[:4]:
        case b"":
            return ""
        case b"\x89PNG" if value[4:8] == b"\r\n\x1a\n":
            return "png"
        case b"GIF8" if value[4:6] in (b"7a", b"9a"):
            return "gif"
        case b"RIFF" if value[8:12] == b"WAVE":
            return "wav"
        case b"fLaC":
            return "flac"
        case b"OggS":
            return "ogg"
    if value[:3] == b"\xff\xd8\xff":
        return "jpeg"
    if value[:2] == b"BM" and value[6:10] == bytes(4):  # unlike any text that starts with BM
        return "bmp"
    return "text" if _is_text(value) else "raw"


def _is_text(value: bytes) -> bool:
    """Whether it is UTF-8 without control characters, which raw numbers rarely are."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return value.translate(None, _CONTROLS) == value


def kind_of(value: Value) -> str:
    """The kind of list with this summary."""
    match value:
        case int():
            return "int64"
        case float():
            return "float32"
        case ListSummary(kind=kind):
            return kind
    return "bytes"
