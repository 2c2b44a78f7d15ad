"""Manifests in files, and what of a source's elements the tests look at."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beam_pipeline.records import Record, Rejected


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


@pytest.fixture(scope="session")
def records_by_key() -> Callable[[list[Any]], dict[str, Record]]:
    """The records among a source's elements, by key; no two have one key."""

    def of(elements: list[Any]) -> dict[str, Record]:
        records = [element for element in elements if isinstance(element, Record)]
        assert len({record.key for record in records}) == len(records)
        return {record.key: record for record in records}

    return of


@pytest.fixture(scope="session")
def rejects() -> Callable[[list[Any]], dict[str, tuple[str, str]]]:
    """(reason, detail) of the rejects among a source's elements, by source; all are bad."""

    def of(elements: list[Any]) -> dict[str, tuple[str, str]]:
        found = [element for element in elements if isinstance(element, Rejected)]
        assert all(reject.bad for reject in found)
        return {reject.source: (reject.reason, reject.detail) for reject in found}

    return of
