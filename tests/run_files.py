"""The files of a run, as tests change them."""

import json
from pathlib import Path
from typing import Any

# The commands that use a run.
COMMANDS = ("resume", "evaluate", "predict", "export")


def unsealed(file: Path) -> dict[str, Any]:
    """config.json or task.json as older versions wrote it, which no checksum protects."""
    record: dict[str, Any] = json.loads(file.read_text())
    for name in ("format_version", "checksum"):
        del record[name]
    return record
