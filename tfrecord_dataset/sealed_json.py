"""JSON that ends with its own checksum, which detects any changed byte.

{
  "name": "cells",
  "checksum": "<SHA-256 of the text with nothing between these quotes>"
}
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from tfrecord_dataset.json_file import parse_object, typed
from tfrecord_dataset.shown_text import printable

_T = TypeVar("_T")

_KEY = "checksum"
_OPEN_END = f'"{_KEY}": ""\n}}\n'
_END = re.compile(rb'"checksum": "([0-9a-f]{64})"\n\}\n\Z')
_END_BYTES = len(_OPEN_END) + 64


def to_text(value: Mapping[str, Any]) -> str:
    """Serialize JSON in the format of a dataset's files."""
    return printable(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def sealed(value: Mapping[str, Any]) -> str:
    """Serialize an object as `to_text` does, with the checksum as its last key."""
    text = to_text({**value, _KEY: ""})
    checksum = _checksum(text.encode())
    return text.removesuffix(_OPEN_END) + _OPEN_END.replace('""', f'"{checksum}"')


def check_seal(data: bytes) -> None:
    """Check the bytes of a file against the checksum at their end.

    Raises:
        ValueError: They differ, or the checksum is missing.
    """
    end = _END.search(data[-_END_BYTES:])
    if end is None:
        raise ValueError("it does not end with its checksum: it was cut off or changed")
    stated = end[1].decode()
    actual = _checksum(data[:-_END_BYTES] + _OPEN_END.encode())
    if actual != stated:
        raise ValueError(
            f"its checksum is {actual}, not {stated} as stated: it was changed after it was written"
        )


def unsealed(data: bytes, kind: type[_T]) -> _T:
    """Parse the text of `sealed` as a dataclass of this kind.

    Raises:
        ValueError: The text was changed.
    """
    check_seal(data)
    stated = parse_object(data)
    del stated[_KEY]
    value: _T = typed(stated, kind)
    return value


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
