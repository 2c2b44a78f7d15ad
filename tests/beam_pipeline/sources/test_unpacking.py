"""Compressed inputs are unpacked once, whole or not at all."""

import gzip
import os

import numpy as np
import pytest
from fresh_python import printed

from beam_pipeline.errors import RecordError
from beam_pipeline.sources import unpacking
from beam_pipeline.sources.unpacking import check_stored, unpack_array, unpack_gzip

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "numbers.gz"
    path.write_bytes(gzip.compress(CONTENT[:1000]) + gzip.compress(CONTENT[1000:]))
    return path


def read(path):
    with open(path, "rb") as handle:
        return handle.read()


def test_unpack_gzip_in_several_blocks_and_members(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_BLOCK_BYTES", 1000)
    assert read(unpack_gzip(str(packed), str(tmp_path / "scratch"))) == CONTENT


def test_what_is_there_is_taken_until_the_input_changes(packed, tmp_path):
    scratch = str(tmp_path / "scratch")
    path = unpack_gzip(str(packed), scratch)
    before = os.stat(path).st_ino
    assert unpack_gzip(str(packed), scratch) == path
    assert os.stat(path).st_ino == before
    packed.write_bytes(gzip.compress(b"other"))
    assert read(unpack_gzip(str(packed), scratch)) == b"other"


def test_damaged_gzip_leaves_nothing(packed, tmp_path):
    packed.write_bytes(packed.read_bytes()[:-5])
    scratch = tmp_path / "scratch"
    with pytest.raises(RecordError, match=r"truncated file: numbers\.gz: "):
        unpack_gzip(str(packed), str(scratch))
    assert list(scratch.iterdir()) == []


NUMBERS = np.arange(7 * 5 * 3).reshape(7, 5, 3)
ARRAYS = [
    pytest.param(NUMBERS.astype("<f4"), id="as wanted"),
    pytest.param(NUMBERS[:0].astype("<f4"), id="no rows"),
    pytest.param(np.array(["ä", "bcd"], "<U3"), id="text"),
    pytest.param(np.array([True, False]), id="bool"),
]


@pytest.fixture(params=["npy", "npz", "compressed npz"])
def save(request, tmp_path):
    """Writes an array in each of the three ways; returns path and member."""

    def run(array):
        path = tmp_path / f"x.{request.param[-3:]}"
        if request.param == "npy":
            np.save(path, array)
            return str(path), ""
        (np.savez_compressed if "comp" in request.param else np.savez)(path, x=array)
        return str(path), "x"

    return run


@pytest.mark.parametrize("array", ARRAYS)
def test_unpack_array(save, tmp_path, monkeypatch, array):
    """In blocks that end amid a value."""
    monkeypatch.setattr(unpacking, "_BLOCK_BYTES", 13)
    path, member = save(array)
    assert read(unpack_array(path, member, str(tmp_path / "scratch"))) == array.tobytes()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(lambda data: data[:-9], "truncated array", id="truncated"),
        pytest.param(lambda data: data + b"x", "damaged array", id="more"),
        pytest.param(lambda data: b"?" + data, "not an array", id="another file"),
    ],
)
def test_damaged_npy(tmp_path, damage, reason):
    np.save(tmp_path / "x.npy", NUMBERS)
    path = tmp_path / "x.npy"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RecordError, match=reason):
        unpack_array(str(path), "", str(tmp_path / "scratch"))
    assert os.listdir(tmp_path) == ["x.npy"] or os.listdir(tmp_path / "scratch") == []


@pytest.mark.parametrize("check", ["unpack", "check"])
@pytest.mark.parametrize("save", ["npz", "compressed npz"], indirect=True)
def test_a_flipped_bit_in_an_npz(save, tmp_path, check):
    path, _ = save(np.random.default_rng(0).integers(0, 1 << 60, 1000))
    data = bytearray(read(path))
    data[len(data) // 2] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(RecordError, match=r"damaged archive: x\.npy "):
        check_stored(path, "x") if check == "check" else unpack_array(path, "x", f"{tmp_path}/s")


def test_a_full_disk_is_not_a_fault_of_the_input(packed, tmp_path):
    """A limit on the size of files stands for it."""
    script = (
        "import resource, signal, sys\n"
        "from beam_pipeline.sources.unpacking import unpack_gzip\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    unpack_gzip(*sys.argv[1:])\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
    )
    assert printed(script, packed, tmp_path / "scratch") == "File too large\n"
    assert os.listdir(tmp_path / "scratch") == []
