"""Changes files that end with a checksum of themselves, as one might who makes them up."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfrecord_dataset.sealed_json import sealed


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Applies `change` to the object in a sealed file, and seals it again."""
    value = json.loads(path.read_text())
    del value["checksum"]  # which `sealed` puts last
    change(value)
    path.write_text(sealed(value))
