"""Fixtures of the sources' tests."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from eager_runner import by_record

from beam_pipeline.records import Element, Record, Rejected
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.sources.gather import Entry, gathered, in_batches
from beam_pipeline.sources.tables.read import ReadTables
from beam_pipeline.sources.tables.records import (
    join_rows,
    numbered,
    overview,
    read_rows,
    survey,
)


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


@pytest.fixture(scope="session")
def by_name() -> Callable[[list[Any]], tuple[dict[str, Record], dict[str, Rejected]]]:
    """What a source yielded: (records by key, rejects by source)."""

    def sort(elements: list[Any]) -> tuple[dict[str, Record], dict[str, Rejected]]:
        elements = list(by_record(elements))
        records = {each.key: each for each in elements if isinstance(each, Record)}
        rejects = {each.source: each for each in elements if isinstance(each, Rejected)}
        assert len(records) + len(rejects) == len(elements)
        return records, rejects

    return sort


@pytest.fixture(scope="session")
def gather() -> Callable[..., list[Any]]:
    """gather(yielded, join, *arguments): what `Gather` makes of a reader's yield, without Beam."""

    def run(
        yielded: Iterable[Entry | Element], join: Callable[..., Iterable[Element]], *arguments: Any
    ) -> list[Any]:
        entries: list[Entry] = []
        elements: list[Any] = []
        for each in yielded:
            (entries if isinstance(each, Entry) else elements).append(each)  # type: ignore[arg-type]
        for key, values in gathered(batch for _, batch in in_batches(entries, Buckets(3))):
            elements += join(key, [*values], *arguments)
        return elements

    return run


@pytest.fixture(scope="session")
def read_tables(gather: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """read_tables(source) -> what a source of tables yields, without Beam."""

    def run(source: ReadTables) -> list[Any]:
        job = source.job()
        surveys = [each for table in job.tables for each in survey(table, job.questions)]
        all_rows = overview(surveys, job.questions)
        read = (each for table in job.tables for each in read_rows(table, all_rows, job.scratch))
        if not all_rows.roles.key:
            return [*by_record(read)]
        if all_rows.roles.joins_rows:
            return gather(read, join_rows, all_rows)
        return gather(read, numbered)

    return run
