"""Content far larger than its compressed file is refused before memory or disk is full."""

import io
import json
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from tiers import first_in_ci

from beam_pipeline import tfrecord
from beam_pipeline.errors import RecordError
from beam_pipeline.media.numpy_files import array_files, array_header, inspect_array
from tfrecord_dataset.format import inflation
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.format.inflation import is_inflated

MIB = 1 << 20


def gzip_of(path, block, count):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open(path, "wb") as handle:
        for _ in range(count):
            handle.write(packer.compress(block))
        handle.write(packer.flush())
    return str(path)


def npz_of(path, num_bytes):
    header = {"descr": "|u1", "fortran_order": False, "shape": (num_bytes,)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w", force_zip64=True) as part,
    ):
        np.lib.format.write_array_header_1_0(part, header)
        for _ in range(0, num_bytes, MIB):
            part.write(bytes(MIB))
    return str(path)


@pytest.mark.parametrize("in_a_record", [True, False])
def test_both_limits_have_to_be_passed(in_a_record):
    most = (128 if in_a_record else 256) * MIB
    assert is_inflated(most // 100, most + 1, in_a_record=in_a_record)
    assert not is_inflated(most // 100, most, in_a_record=in_a_record)
    assert not is_inflated(most // 99, most + 1, in_a_record=in_a_record)
    with pytest.raises(RecordError, match=f"file too large: x unpacks to over {most // MIB} MiB"):
        inflation.check_inflation("x", 1, most + 1, in_a_record=in_a_record)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(inflation, "MAX_BYTES", 4 * MIB)
    monkeypatch.setattr(inflation, "_MAX_RECORD_BYTES", 2 * MIB)


def test_frames_in_gzip(tmp_path, small):
    bomb = gzip_of(tmp_path / "bomb.gz", framed(bytes(8 * MIB)), 1)
    with pytest.raises(RecordError, match=r"file too large: record 0.* bomb\.gz unpacks"):
        list(tfrecord.read_file(bomb, compressed=True))


@pytest.mark.parametrize(
    ("read", "most"),
    [
        pytest.param(lambda path: array_files(path), 4, id="rows"),
        pytest.param(lambda path: inspect_array(Path(path).read_bytes()), 2, id="one array"),
    ],
)
def test_npz(tmp_path, small, read, most):
    read(npz_of(tmp_path / "fine.npz", (most - 1) * MIB))
    with pytest.raises(RecordError, match=rf"file too large: .* unpacks to over {most} MiB"):
        read(npz_of(tmp_path / "bomb.npz", (most + 1) * MIB))


class Counted(io.BytesIO):
    asked = 0

    def read(self, size=-1):
        self.asked = max(self.asked, size)
        return super().read(size)


def test_the_header_of_an_array_is_short():
    handle = Counted(b"\x93NUMPY\x02\x00" + (0xFFFFFFF0).to_bytes(4, "little") + bytes(100))
    with pytest.raises(RecordError, match="truncated array: its header: EOF"):
        array_header(handle)
    assert handle.asked < 100_000


@pytest.mark.slow
@pytest.mark.parametrize("make", first_in_ci(["gzip", "npz", "tfrecord"]))
def test_a_build_of_a_bomb_takes_little_memory_and_time(tmp_path, make):
    if make == "npz":
        path = npz_of(tmp_path / "x.npz", 600 * MIB)
    elif make == "gzip":
        path = gzip_of(tmp_path / "x.csv.gz", b"a,b\n" * (MIB // 4), 600)
    else:
        path = gzip_of(tmp_path / "x.tfrecord.gz", framed(bytes(MIB)), 600)
    code = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=60)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(json.dumps([done.returncode, done.stderr, peak]))"
    )
    build = ["-m", "beam_pipeline", "build", path, "--output", str(tmp_path / "out")]
    arguments = [sys.executable, "-c", code, sys.executable, *build]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    status, message, peak_kib = json.loads(done.stdout)
    assert status in (1, 2, 3)
    assert "file too large" in message
    assert "if this is intended, save it" in message
    assert "Traceback" not in message
    assert peak_kib < 1 << 20
