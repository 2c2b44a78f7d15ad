"""A record that takes too much time or memory, or kills its process, is rejected by name."""

import pickle
import signal

import pytest
from hostile_files import jpeg_of_scans

from beam_pipeline.assign import columns
from beam_pipeline.assign.packing import Packer
from beam_pipeline.batch import batches_of
from beam_pipeline.config import BuildConfig
from beam_pipeline.inspect.inspect_batch import InspectBatch, Settings
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Deferred, FileRef, Image, Record, Rejected
from beam_pipeline.running import parallel, pickling
from beam_pipeline.running.pickling import Constant, unpack
from beam_pipeline.running.record_limits import MAX_RECORD_BYTES
from beam_pipeline.running.worker_processes import Death

DEADLY = f"""
import ctypes, os, time
from beam_pipeline.assign.packing import Packer

class GreedyPacker(Packer):
    def pack(self, elements):
        elements = list(elements)
        len(bytes({MAX_RECORD_BYTES + (50 << 20)}))
        return super().pack(elements)

def plain(data):
    return data.decode()

def endless(data):
    while True:
        pass

def greedy(data):
    return str(len(bytes({MAX_RECORD_BYTES + (50 << 20)})))

def crashes(data):
    ctypes.string_at(0)

def exits(data):
    os._exit(3)

def sleeps(data):
    time.sleep(1)  # waiting takes no CPU time
    return data.decode()
"""

CONFIG = BuildConfig(name="t")
PACK = Packer(CONFIG).pack


@pytest.fixture
def deadly(worker_module):
    """A module with functions that read values, or kill the reading process."""
    return worker_module("deadly_values", DEADLY)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text("text")
    return path


def record(path, key, read=None):
    file = FileRef(path=str(path))
    return Record(
        key=key, features={"x": Deferred(file=file, read=read) if read else Image(file=file)}
    )


def settings(max_seconds, pack=PACK):
    return Constant.of(Settings(Rules(max_seconds=max_seconds), pack))


def packed(elements):
    records = [each for each in elements if isinstance(each, Record)]
    others = [each for each in elements if not isinstance(each, Record)]
    return pickling.pack([*batches_of(records), *others])


def inspected(elements, max_seconds=60.0, pack=PACK):
    """Return (keys of records, rejects by source) of a batch in worker processes."""
    work = InspectBatch(settings(max_seconds, pack), threads=1)
    [found] = parallel.start_processes(1).ahead().map(work, [packed(elements)])
    table = columns.from_bytes([found.records])
    rejects = unpack(found.rejects) if found.rejects else []
    return table.column("key").to_pylist(), {reject.source: reject for reject in rejects}


def test_a_decoder_that_does_not_return_is_ended_by_the_system(tmp_path, text, deadly):
    """libjpeg takes a second, in one call."""
    slow = tmp_path / "slow.jpg"
    slow.write_bytes(jpeg_of_scans(85))
    elements = [
        record(text, "before", deadly.plain),
        record(slow, "slow"),
        record(text, "asleep", deadly.sleeps),
        Rejected(source="other", reason="r", detail="d"),
    ]
    keys, rejects = inspected(elements, max_seconds=0.1)
    assert keys == ["before", "asleep"]
    assert set(rejects) == {"slow", "other"}
    assert rejects["slow"].reason == "took too long"
    assert rejects["slow"].detail == (
        "over 0.1 s of CPU time; leave it out, or allow more by max_record_seconds"
    )


@pytest.mark.slow
def test_only_what_ends_its_process_is_left_out(text, deadly):
    names = ["plain", "crashes", "greedy", "exits", "endless", "plain"]
    elements = [
        record(text, f"{number} {name}", getattr(deadly, name)) for number, name in enumerate(names)
    ]
    keys, rejects = inspected(elements, max_seconds=1)
    assert keys == ["0 plain", "5 plain"]
    assert {source: reject.reason for source, reject in rejects.items()} == {
        "1 crashes": "crashed its process",
        "2 greedy": "took too much memory",
        "3 exits": "crashed its process",
        "4 endless": "took too long",
    }
    assert "its process was ended 3 times by SIGSEGV" in rejects["1 crashes"].detail
    assert "exit code 3" in rejects["3 exits"].detail


def test_too_much_memory_is_refused_without_a_crash(tmp_path, text, deadly):
    """Later records have the full limit, and packing has none."""
    large = tmp_path / "large"
    large.write_bytes(bytes(70 << 20))  # allows sixteen times as much
    elements = [
        record(text, "greedy", deadly.greedy),
        record(large, "allowed", deadly.greedy),
        record(text, "plain", deadly.plain),
    ]
    keys, rejects = inspected(elements, pack=deadly.GreedyPacker(CONFIG).pack)
    assert keys == ["allowed", "plain"]
    assert rejects["greedy"].reason == "took too much memory"
    assert "over 1,024 MiB in addition to its files" in rejects["greedy"].detail


def test_without_a_process_of_its_own_the_time_is_looked_at_afterwards(text, deadly):
    batch = packed([record(text, "text", deadly.plain)])

    def here(max_seconds):
        return InspectBatch(settings(max_seconds), 1).here(batch)

    assert here(60).num_records == 1
    [reject] = unpack(here(1e-9).rejects)
    assert reject.reason == "took too long"


@pytest.mark.parametrize(
    ("death", "cause"),
    [
        (Death(-signal.SIGKILL, 3), "SIGKILL, perhaps because memory ran out"),
        (Death(-signal.SIGBUS, 3), "SIGBUS"),
        (Death(-250, 3), "exit code -250"),
        (Death(1, 3), "exit code 1"),
    ],
)
def test_what_ended_a_process_is_named(death, cause):
    assert str(death) == f"its process was ended 3 times by {cause}"
    assert pickle.loads(pickle.dumps(death)) == death
