"""JSON that ends with a checksum of itself, by which any change of a byte is found.

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
    """JSON as the files of a dataset have it."""
    return printable(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def sealed(value: Mapping[str, Any]) -> str:
    """`to_text` of an object, and behind its other keys the checksum."""
    text = to_text({**value, _KEY: ""})
    checksum = _checksum(text.encode())
    return text.removesuffix(_OPEN_END) + _OPEN_END.replace('""', f'"{checksum}"')


def check_seal(data: bytes) -> None:
    """Compares the bytes of a file with the checksum that they end with.

    Raises:
        ValueError: They differ, or there is none.
    """
    found = _END.search(data[-_END_BYTES:])
    if found is None:
        raise ValueError("it does not end with its checksum: it was cut off or changed")
    stated = found[1].decode()
    actual = _checksum(data[:-_END_BYTES] + _OPEN_END.encode())
    if actual != stated:
        raise ValueError(
            f"its checksum is {actual}, it states {stated}: it was changed after it was written"
        )


def unsealed(data: bytes, kind: type[_T]) -> _T:
    """What `sealed` has made a text of: a dataclass of this kind.

    Raises:
        ValueError: The text is not as it was written.
    """
    check_seal(data)
    stated = parse_object(data)
    del stated[_KEY]
    value: _T = typed(stated, kind)
    return value


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
