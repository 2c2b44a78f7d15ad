"""Files of arrays, and what the source makes of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.arrays.files import find_tables
from beam_pipeline.sources.arrays.read import questions_of
from beam_pipeline.sources.tables.options import ValueOptions
from beam_pipeline.sources.tables.records import overview, read_rows, survey

Found = tuple[dict[str, Record], dict[str, Rejected]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    """Writes arrays by file name, several of them as an .npz; returns the folder."""

    def run(files: Mapping[str, Any]) -> str:
        root = tmp_path / "in"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, dict):
                np.savez(path, **content)
            else:
                np.save(path, content, allow_pickle=content.dtype.hasobject)
        return str(root)

    return run


@pytest.fixture
def read(
    write: Callable[[Mapping[str, Any]], str], by_name: Callable[..., Found], tmp_path: Path
) -> Callable[..., Found]:
    """What `ReadArrays` yields, without Beam: (records by key, rejects by source)."""

    def run(files: Mapping[str, Any], path: str = "", **said: Any) -> Found:
        options = ValueOptions(**said)
        tables, elements = find_tables(f"{write(files)}/{path}", options.ignore_columns)
        questions = questions_of(tables, options)
        scratch = str(tmp_path / "scratch")
        surveys = [each for table in tables for each in survey(table, questions, scratch)]
        rows = overview(surveys, questions)
        for table in tables:
            elements += read_rows(table, rows, scratch)
        return by_name(elements)

    return run
