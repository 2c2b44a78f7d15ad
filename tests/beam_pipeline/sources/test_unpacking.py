"""Compressed inputs are unpacked once, completely or not at all."""

import gzip
import os
from pathlib import Path

import pytest
from fresh_python import printed

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.unpacking import unpack_gzip

CONTENT = bytes(range(256)) * 10_000


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "numbers.gz"
    path.write_bytes(gzip.compress(CONTENT[:1000]) + gzip.compress(CONTENT[1000:]))
    return path


def test_what_is_unpacked_is_taken_until_the_input_changes(packed, tmp_path):
    scratch = str(tmp_path / "scratch")
    path = unpack_gzip(str(packed), scratch)
    assert Path(path).read_bytes() == CONTENT
    before = os.stat(path).st_ino
    assert unpack_gzip(str(packed), scratch) == path
    assert os.stat(path).st_ino == before
    packed.write_bytes(gzip.compress(b"other"))
    assert Path(unpack_gzip(str(packed), scratch)).read_bytes() == b"other"


def test_damaged_gzip_leaves_nothing(packed, tmp_path):
    packed.write_bytes(packed.read_bytes()[:-5])
    scratch = tmp_path / "scratch"
    with pytest.raises(RecordError, match=r"truncated file: numbers\.gz: "):
        unpack_gzip(str(packed), str(scratch))
    assert list(scratch.iterdir()) == []


def test_a_full_disk_is_not_a_fault_of_the_input(packed, tmp_path):
    """A limit on file sizes simulates it."""
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
