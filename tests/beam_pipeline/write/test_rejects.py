"""rejects.jsonl is in the order of the sources, however many workers put it in order."""

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.assign.statistics import Sample, Statistics
from beam_pipeline.records import Rejected
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.spill import spilling
from beam_pipeline.write import rejects
from tfrecord_dataset.format.metadata import FileEntry

COUNT = 1000


@pytest.fixture
def config(tmp_path):
    return BuildConfig(output=str(tmp_path / "out"), name="pets")


def statistics_of(found):
    statistics = Statistics()
    for each in found:
        statistics.add_rejected(each)
    return statistics


def ranges_of(found, batch=30):
    """As workers make them, of batches in no order."""
    starts = rejects.range_starts(statistics_of(found))
    batches = [pack(found[start : start + batch]) for start in range(0, len(found), batch)]
    by_range = defaultdict(list)
    for each in batches:
        for number, packed in rejects.divided([each], starts):
            by_range[number].append(packed)
    ranges = [rejects.sorted_range(number, packed) for number, packed in by_range.items()]
    random.Random(1).shuffle(ranges)
    return ranges


@pytest.mark.parametrize("range_rejects", [10**6, 100, 1])
def test_the_lines_are_the_same(config, monkeypatch, range_rejects):
    """Rejects in no order, some of one source, some twice, in one range or many."""
    monkeypatch.setattr(rejects, "_RANGE_REJECTS", range_rejects)
    found = [
        Rejected(source=f"{n % 300}.jpg", reason="r" * (n % 3), detail=f"ä{n % 7}\ud800")
        for n in range(COUNT)
    ] * 2
    random.Random(0).shuffle(found)
    ranges = ranges_of(found)

    file = rejects.write_rejects(config, ranges)
    written = Path(file.path).read_bytes()
    assert file.entry == FileEntry.of(written)
    sources = [json.loads(line)["source"] for line in written.splitlines()]
    assert len(sources) == sum(each.count for each in ranges) == len(found)
    assert sources == sorted(sources, key=lambda source: int(source.removesuffix(".jpg")))
    expected = sorted(line for line in rejects.lines_of(pack(found)))
    assert written.decode() == "".join(f"{line}\n" for _, line in expected)
    assert (len(ranges) > 10) == (range_rejects < COUNT)

    with spilling() as spill:
        batches = [pack(found[start::50]) for start in range(50)]
        spilled = rejects.sort_rejects(batches, statistics_of(found), spill)
        assert rejects.write_rejects(config, spilled, spill).entry == file.entry


def test_none(config):
    file = rejects.write_rejects(config, [])
    assert Path(file.path).read_bytes() == b""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda n: f"photos/{n:07d}.jpg", id="numbers"),
        pytest.param(lambda n: f"{n % 3}/{n**2}.jpg", id="folders"),
        pytest.param(lambda n: "one.csv", id="one source"),
    ],
)
def test_ranges_are_about_as_large(monkeypatch, source):
    """Which is what a worker holds of them at once."""
    monkeypatch.setattr(rejects, "_RANGE_REJECTS", 250)
    found = [Rejected(source=source(n), reason="r", detail=f"of {n}") for n in range(5000)]
    counts = [each.count for each in ranges_of(found, batch=1000)]
    assert len(counts) == 21
    assert max(counts) < 500


def test_equal_ones_are_held_once():
    found = [Rejected(source="a.tar", reason="r", detail="d")] * COUNT
    assert len(statistics_of(found).some_rejects.values) == 1
    [only] = ranges_of(found)
    assert only.count == COUNT


def test_a_sample_is_the_same_of_whatever_parts():
    values = [(str(n),) for n in range(30_000)]
    whole, merged = Sample(), Sample()
    whole.add(values)
    random.Random(0).shuffle(values)
    for start in range(0, len(values), 7000):
        part = Sample()
        part.add(values[start : start + 7000])
        merged.merge(part)
    assert merged == whole
    assert 1000 < len(whole.values) < 5000


def test_each_line_is_without_secrets_and_control_characters(config, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "open-sesame")
    found = [
        Rejected(source=f"{n:05}\x1b\n\u2028.jpg", reason="r", detail="open-sesame s3://me:pw@x")
        for n in range(2001)
    ]

    file = rejects.write_rejects(config, ranges_of(found, batch=500))

    written = Path(file.path).read_text().splitlines()
    assert [json.loads(line) for line in written] == [
        {"source": each.source, "reason": "r", "detail": "*** s3://***@x"} for each in found
    ]
    assert "\x1b" not in written[0]
