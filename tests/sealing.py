"""Forges files that end with their own checksum."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfrecord_dataset.json_file import sealed


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Apply `change` to the object in a sealed file, and seal it again."""
    value = json.loads(path.read_text())
    del value["checksum"]  # `sealed` adds it again at the end
    change(value)
    path.write_text(sealed(value))
