"""rejects.jsonl is sorted by source, in whatever order rejects arrive."""

import json
import random
import tracemalloc
from pathlib import Path

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.running import buckets
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.spill import NOT_SPILLED, spilling
from beam_pipeline.write import rejects_file
from tfrecord_dataset.format.metadata import FileEntry

COUNT = 1000


@pytest.fixture
def config(tmp_path):
    return BuildConfig(output=str(tmp_path / "out"), name="pets")


def batches_of(found, batch=30):
    return [pack(found[start : start + batch]) for start in range(0, len(found), batch)]


@pytest.mark.parametrize("run_rejects", [10**6, 100, 1])
def test_the_lines_are_the_same(config, monkeypatch, run_rejects):
    """Unordered rejects, some with equal sources, some repeated, in one or many runs."""
    monkeypatch.setattr(rejects_file, "_RUN_REJECTS", run_rejects)
    found = [
        Rejected(source=f"{n % 300}.jpg", reason="r" * (n % 3), detail=f"ä{n % 7}\ud800")
        for n in range(COUNT)
    ] * 2
    random.Random(0).shuffle(found)

    with spilling() as spill:
        in_order = rejects_file.sort_rejects(batches_of(found), spill)
        file = rejects_file.write_rejects(config, in_order)

    written = Path(file.path).read_bytes()
    assert file.entry == FileEntry.of(written)
    sources = [json.loads(line)["source"] for line in written.splitlines()]
    assert len(sources) == in_order.count == len(found)
    assert sources == sorted(sources, key=lambda source: int(source.removesuffix(".jpg")))
    expected = sorted(line for line in rejects_file.lines_of(pack(found)))
    assert written.decode() == "".join(f"{line}\n" for _, line in expected)
    assert (len(in_order.runs) > 10) == (run_rejects < COUNT)


def test_none(config):
    file = rejects_file.write_rejects(config, rejects_file.sort_rejects([], NOT_SPILLED))
    assert Path(file.path).read_bytes() == b""


def test_those_of_a_failed_build_on_a_store_replace_those_before(bucket):
    url, _ = bucket
    config = BuildConfig(output=f"{url}/out", name="pets")

    for source in ("first.jpg", "second.jpg"):
        found = pack([Rejected(source=source, reason="r", detail="")])
        rejects_file.write_failed_rejects(config, rejects_file.sort_rejects([found], NOT_SPILLED))

    path = rejects_file.failed_rejects_path(config)
    assert json.loads(storage.read_text(path))["source"] == "second.jpg"


def test_memory_is_that_of_a_run(config, monkeypatch):
    """Merging also needs a block of each run."""
    monkeypatch.setattr(rejects_file, "_RUN_REJECTS", 500)
    monkeypatch.setattr(buckets, "_BLOCK", 20)
    batches = [
        pack([Rejected(source=f"{n}/{part}.jpg", reason="r", detail="d" * 500) for n in range(250)])
        for part in range(40)
    ]
    with spilling() as spill:
        tracemalloc.start()
        file = rejects_file.write_rejects(config, rejects_file.sort_rejects(batches, spill))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert file.num_bytes > 5_000_000
    assert peak < file.num_bytes / 2


def test_each_line_is_without_secrets_and_control_characters(config, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "open-sesame")
    found = [
        Rejected(source=f"{n:05}\x1b\n\u2028.jpg", reason="r", detail="open-sesame s3://me:pw@x")
        for n in range(2001)
    ]

    in_order = rejects_file.sort_rejects(batches_of(found, batch=500), NOT_SPILLED)
    file = rejects_file.write_rejects(config, in_order)

    written = Path(file.path).read_text().splitlines()
    assert [json.loads(line) for line in written] == [
        {"source": each.source, "reason": "r", "detail": "*** s3://***@x"} for each in found
    ]
    assert "\x1b" not in written[0]
