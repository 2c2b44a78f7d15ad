"""Small files are shared out among processes, and nothing of it shows in what is written."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.inspect import stage as inspection
from beam_pipeline.pipeline import build
from beam_pipeline.records import FileRef, Record
from beam_pipeline.records import Image as ImageValue
from beam_pipeline.running import parallel

NUM_PICTURES = 600


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Tiny images in two classes, one of them empty."""
    folder = tmp_path / "images"
    for number in range(NUM_PICTURES):
        path = folder / f"class_{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number % 256, number // 256, 0)).save(path)
    (folder / "class_0" / "empty.png").touch()
    return folder


def hashes(info: DatasetInfo) -> list[str]:
    return [shard.sha256 for shards in info.splits.values() for shard in shards]


def test_processes_write_the_same_bytes(images, tmp_path, monkeypatch):
    monkeypatch.setattr(inspection, "_BATCHES_A_LOOK", 1)
    started = []
    ahead = parallel.ahead_in_processes

    def counted(processes):
        started.append(processes)
        return ahead(processes)

    monkeypatch.setattr(inspection, "ahead_in_processes", counted)
    options = {"input": str(images), "num_shards": 3, "max_bad_fraction": 0.1}
    in_processes = build(BuildConfig(output=str(tmp_path / "processes"), **options))
    assert started
    alone = build(BuildConfig(output=str(tmp_path / "alone"), threads=1, **options))
    assert hashes(in_processes) == hashes(alone)
    assert in_processes.num_records("train") == NUM_PICTURES
    assert in_processes.metadata["rejected"] == {"empty file": 1}


def test_worker_processes_load_neither_beam_nor_tensorflow():
    code = (
        "import sys, beam_pipeline.write.encoding, beam_pipeline.inspect.record\n"
        "print([name for name in ('apache_beam', 'tensorflow', 'pyarrow') if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == "[]"


def test_worker_processes_end_when_their_parent_is_killed():
    code = (
        "import time\n"
        "from beam_pipeline.running.parallel import ahead_in_processes\n"
        "print(*ahead_in_processes(1).map(time.sleep, [0]), flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (worker,) = (pid for pid in children(parent.pid) if b"LokyProcess" in command(pid))
        parent.kill()
    deadline = time.monotonic() + 30
    while b"LokyProcess" in command(worker):
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.1)


def children(pid: int) -> list[int]:
    """The processes that a process has started, on Linux."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in threads for child in path.read_text().split()]


def command(pid: int) -> bytes:
    """A process's command line; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def image(path: Path | str) -> Record:
    return Record(key=str(path), features={"image": ImageValue(file=FileRef(path=str(path)))})


@pytest.mark.parametrize(
    ("num_bytes", "threads", "processes", "expected"),
    [
        pytest.param(100, 0, 2, parallel.Labour(processes=2), id="small: processes"),
        pytest.param(100, 0, 0, parallel.Labour(), id="small, none to spare: one thread"),
        pytest.param(
            40_000, 0, 2, parallel.Labour(threads=os.cpu_count() or 1), id="large: threads"
        ),
        pytest.param(100, 3, 2, parallel.Labour(threads=3), id="as asked"),
    ],
)
def test_divide_labour(tmp_path, num_bytes, threads, processes, expected):
    path = tmp_path / "file"
    path.write_bytes(bytes(num_bytes))
    assert parallel.divide_labour([image(path)], threads, processes) == expected


def test_remote_files_are_read_many_at_once():
    labour = parallel.divide_labour([image("gs://bucket/a.jpg")], 0, 2)
    assert labour == parallel.Labour(threads=16)


@pytest.mark.parametrize("threads", [1, 3])
def test_map_threads_keeps_the_order(threads):
    assert list(parallel.map_threads(str, range(100), threads)) == list(map(str, range(100)))
