"""Fixtures of the sources' tests."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[[Mapping[str, str]], str]:
    """Writes files with these texts by their path below a new folder; returns the folder."""

    def make(texts: Mapping[str, str]) -> str:
        root = tmp_path / "input"
        for relative, text in texts.items():
            path = root / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return str(root)

    return make
