"""rejects.jsonl is in the order of the sources, however many rejects are in memory."""

import json
import random
from pathlib import Path

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.records import Rejected
from beam_pipeline.running.pickling import pack
from beam_pipeline.write import rejects
from tfrecord_dataset.metadata import FileEntry

COUNT = 1000


@pytest.fixture
def config(tmp_path):
    return BuildConfig(output=str(tmp_path / "out"), name="pets")


def lines(found):
    """Of a batch that a worker has."""
    return rejects.lines_of(pack(found))


def batches():
    """Rejects in no order, some of one source, some twice."""
    all_of_them = [
        Rejected(source=f"{n % 300}.jpg", reason="r" * (n % 3), detail=f"ä{n % 7}\ud800")
        for n in range(COUNT)
    ]
    random.Random(0).shuffle(all_of_them)
    return [lines(all_of_them[start : start + 30]) for start in range(0, COUNT, 30)]


@pytest.mark.parametrize("run_rejects", [10**6, 100, 1])
def test_the_lines_are_the_same(config, monkeypatch, run_rejects):
    in_memory = rejects.sorted_rejects(config, batches())
    whole = rejects.write_rejects(config, in_memory)
    expected = Path(whole.path).read_bytes()

    monkeypatch.setattr(rejects, "_RUN_REJECTS", run_rejects)
    of_runs = rejects.sorted_rejects(config, batches())

    again = rejects.write_rejects(config, of_runs)
    assert again.entry == whole.entry
    assert Path(again.path).read_bytes() == expected
    assert whole.entry == FileEntry.of(expected)
    assert of_runs.count == in_memory.count == COUNT
    assert (len(of_runs.runs) > 1) == (run_rejects < COUNT)
    sources = [json.loads(line)["source"] for line in expected.splitlines()]
    assert len(sources) == COUNT
    assert sources == sorted(sources, key=lambda source: int(source.removesuffix(".jpg")))


def test_none(config):
    file = rejects.write_rejects(config, rejects.sorted_rejects(config, []))
    assert Path(file.path).read_bytes() == b""


def test_few_are_in_memory(config):
    """Runs are read line by line."""
    number = rejects._RUN_REJECTS + 500
    packed = (
        lines([Rejected(source=str(n), reason="r", detail="d") for n in range(start, start + 500)])
        for start in range(0, number, 500)
    )
    [run, rest] = rejects.sorted_rejects(config, packed).runs
    assert not isinstance(run, list)
    assert len(rest) == number - rejects._RUN_REJECTS


def test_each_line_is_without_secrets_and_control_characters(config, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "open-sesame")
    found = [
        Rejected(source=f"{n:05}\x1b\n\u2028.jpg", reason="r", detail="open-sesame s3://me:pw@x")
        for n in range(2001)
    ]

    file = rejects.write_rejects(config, rejects.sorted_rejects(config, [lines(found)]))

    written = Path(file.path).read_text().splitlines()
    assert [json.loads(line) for line in written] == [
        {"source": each.source, "reason": "r", "detail": "*** s3://***@x"} for each in found
    ]
    assert "\x1b" not in written[0]
