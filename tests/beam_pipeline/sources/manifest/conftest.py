"""Manifests in files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def write() -> Callable[[Path, str | bytes], str]:
    """Writes a file and its folders; returns its path."""

    def run(path: Path, text: str | bytes) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return run


@pytest.fixture(scope="session")
def json_lines() -> Callable[..., str]:
    """json_lines(*rows) -> the text of a JSON Lines file."""

    def text(*rows: Any) -> str:
        return "".join(json.dumps(row) + "\n" for row in rows)

    return text
