"""Handling of duplicates does not depend on table boundaries or on records per content."""

from collections.abc import Iterator

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest
from fresh_python import printed
from inspecting import Inspected, table_of
from tiers import first_in_ci

from beam_pipeline.assign import columns
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.statistics import DuplicateGroup, Statistics
from beam_pipeline.records import ClassLabel, FileRef, RawFile, Rejected


def record(number: int, content: int, label: str = "a") -> Inspected:
    return Inspected(
        key=f"{number:07d}",
        features={"bytes": RawFile(file=FileRef(path="a.bin")), "label": ClassLabel(label)},
        source=f"row {number}",
        content_digest=f"{content:064x}"[::-1],
        num_bytes=10,
    )


def table(rows) -> bytes:
    return columns.to_bytes(table_of(rows))


def outcome(tables, policy, max_rows):
    """Return kept keys, rejects, groups and counts, independent of the order of parts."""
    statistics = Statistics()
    unique = list(settle(tables, policy, statistics, max_rows))
    keys = [key for each, _ in unique for key in each.column("key").to_pylist()]
    rejects = [(each.source, each.detail) for _, rejected in unique for each in rejected]
    groups = sorted((group for _, group in statistics.duplicates), key=lambda group: group.keys)
    counts = statistics.num_records, statistics.duplicate_records, statistics.conflicting
    return sorted(keys), sorted(rejects), groups, counts


ROWS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab"), st.sampled_from(["x", "y"])))


@pytest.mark.parametrize("policy", ["keep", "drop"])
@hypothesis.given(rows=ROWS, sizes=st.lists(st.integers(1, 5), min_size=1))
def test_parts_are_the_whole(policy, rows, sizes):
    records = [
        (record(number, content, label), split, number)
        for number, (content, label, split) in enumerate(rows)
    ]
    whole = outcome([table(records)], policy, 1000)
    pieces, start = [], 0
    while start < len(records):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(table(records[start : start + size]))
        start += size
    assert outcome(pieces, policy, 1) == whole
    assert len(whole[0]) + len(whole[1]) == len(records)

    by_content: dict[int, list[int]] = {}
    for number, (content, _, _) in enumerate(rows):
        by_content.setdefault(content, []).append(number)
    repeated = [numbers for numbers in by_content.values() if len(numbers) > 1]
    assert [group.num_records for group in whole[2]] == [len(each) for each in sorted(repeated)]
    if policy == "drop":
        first = sorted(min(numbers) for numbers in by_content.values())
        assert whole[0] == [f"{number:07d}" for number in first]


@pytest.mark.parametrize("max_rows", [1, 100])
def test_no_part_is_empty(max_rows):
    empty, one = table([]), table([(record(0, 0), "x", 0)])
    parts = columns.parts([empty, one, empty, empty, one, empty], max_rows)
    assert [part.num_rows for part in parts] == ([1, 1] if max_rows == 1 else [2])
    assert not list(columns.parts([empty, empty], max_rows))


def test_what_is_said_of_a_content_of_many_records():
    rows = [
        (record(number, 0, "ab"[number == 90]), "xy"[number == 95], number) for number in range(99)
    ]
    pieces = [table(rows[start : start + 10]) for start in range(0, 99, 10)][::-1]
    _, _, groups, _ = outcome(pieces, "keep", 10)
    assert groups == [
        DuplicateGroup(
            keys=tuple(f"{number:07d}" for number in range(10)),
            labels=("a",) * 10,  # the different one is not among the named ones
            splits=(("x", "0000000"), ("y", "0000095")),
            num_records=99,
        )
    ]


class Hot:
    """Repeated tables of one content, and Arrow's memory at each."""

    def __init__(self, count: int):
        self._count = count
        self._tables = [
            table((record(row, 0), "train", row) for row in range(start, start + 1000))
            for start in range(0, 5000, 1000)
        ]
        self.held: list[int] = []

    def __iter__(self) -> Iterator[bytes]:
        for number in range(self._count):
            self.held.append(pa.total_allocated_bytes())
            yield self._tables[number % len(self._tables)]


@pytest.mark.parametrize("policy", first_in_ci(["drop", "keep"]))
def test_one_content_any_number_of_times_takes_little(policy):
    hot, statistics = Hot(30), Statistics()
    kept = sum(table.num_rows for table, _ in settle(hot, policy, statistics, 2000))
    assert kept == (30_000 if policy == "keep" else 1)
    assert statistics.duplicate_records == 30_000
    assert len(hot.held) > 90  # a first look, and three passes
    assert max(hot.held) - hot.held[0] < 4 << 20


# Prints by how many bytes the memory grows at most.
PAIRS = """
import resource
from beam_pipeline.assign import columns
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.batch import Examples

def table(rows):
    contents = [row % {number} for row in rows]
    fields = {{
        "key": [f"{{row}}" for row in rows],
        "source": [f"a.csv:{{row}}" for row in rows],
        "content_digest": [f"{{content:064x}}"[::-1] for content in contents],
        "num_bytes": [10] * len(rows),
    }}
    examples = Examples(fields, {{"text": [f"{{content}}" for content in contents]}})
    return columns.to_bytes(columns.table_of(examples, ["train"] * len(rows), rows))

tables = [table(range(start, start + 1000)) for start in range(0, 2 * {number}, 1000)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
statistics, rejects = Statistics(), 0
for _, rejected in settle(tables, "{policy}", statistics, 4000):
    rejects += len(rejected)
assert statistics.duplicate_groups == {number}
assert rejects == (0 if "{policy}" == "keep" else {number})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before << 10)
"""


@pytest.mark.parametrize("policy", first_in_ci(["drop", "keep"]))
def test_a_group_takes_little(policy):
    number = 20_000
    assert int(printed(PAIRS.format(policy=policy, number=number))) < 2500 * number


@pytest.mark.parametrize("bad", [True, False])
def test_rejects_are_counted_and_few_are_held(bad):
    statistics, number = Statistics(), 5_000
    for row in range(number)[::-1]:
        source = f"a.csv:{row}"
        statistics.add_rejected(Rejected(source=source, reason="r", detail="d", bad=bad))
        assert len(statistics.first_sources["r"]) + len(statistics.first_rejects) < 2_003
    merged = Statistics()
    merged.merge(statistics)
    assert (merged.rejected["r"], merged.num_bad) == (number, bad * number)
    assert merged.first_sources["r"] == ["a.csv:0", "a.csv:1", "a.csv:2"]
    assert [source for source, *_ in merged.first_rejects] == [
        f"a.csv:{row}" for row in range(100 * bad)
    ]


def test_groups_are_counted_and_the_first_are_named():
    """Conflicting groups are named before others, and few leaks."""
    number = 300
    records = []
    for content in range(number):
        labels = "ab" if content % 2 else "aa"
        for split, label in zip(("x", "y"), labels, strict=True):
            key = len(records)
            records.append((record(key, content, label), split, key))
    tables = [table(records[start : start + 50]) for start in range(0, len(records), 50)]
    statistics = Statistics()
    assert not any(rejects for _, rejects in settle(tables, "keep", statistics, 100))

    assert (statistics.duplicate_groups, statistics.duplicate_records) == (number, 2 * number)
    assert (statistics.conflicting, statistics.across_splits) == (number // 2, number)
    pairs = [(f"{2 * content:07d}", f"{2 * content + 1:07d}") for content in range(number)]
    named = [group for _, group in statistics.duplicates]
    assert [group.keys for group in named] == pairs[1:200:2]
    assert {group.labels for group in named} == {("a", "b")}
    assert statistics.leaks == [(("x", one), ("y", other)) for one, other in pairs[:3]]
