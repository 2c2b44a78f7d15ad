"""Fixtures of the sources' tests."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from eager_runner import by_record, yielded

from beam_pipeline.records import Consumed, Record, Rejected
from beam_pipeline.sources.tables.read_tables import ReadTables


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[[Mapping[str, str]], str]:
    """Write texts to files by path below a new folder; return the folder."""

    def make(texts: Mapping[str, str]) -> str:
        root = tmp_path / "input"
        for relative, text in texts.items():
            path = root / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return str(root)

    return make


@pytest.fixture(scope="session")
def by_name() -> Callable[[list[Any]], tuple[dict[str, Record], dict[str, Rejected]]]:
    """Divide a source's output into (records by key, rejects by source)."""

    def sort(elements: list[Any]) -> tuple[dict[str, Record], dict[str, Rejected]]:
        elements = [each for each in by_record(elements) if not isinstance(each, Consumed)]
        records = {element.key: element for element in elements if isinstance(element, Record)}
        rejects = {element.source: element for element in elements if isinstance(element, Rejected)}
        assert len(records) + len(rejects) == len(elements)
        return records, rejects

    return sort


@pytest.fixture(scope="session")
def read_tables() -> Callable[[ReadTables], list[Any]]:
    """read_tables(source) -> output of a source of tables, without Beam's runner."""
    return yielded
