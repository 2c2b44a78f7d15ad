"""Faults of local files: retried if transient, a reject if the file's own, else the job fails."""

import errno
import os
import time

import pytest
from fresh_python import printed

from beam_pipeline.errors import RecordError
from beam_pipeline.files import backend, storage
from beam_pipeline.records import FileRef

# Reads a file while the process may not open another one, for 0.3 seconds or forever.
TOO_MANY_OPEN_FILES = """
import os, resource, sys, threading
from beam_pipeline.files import backend, storage
from beam_pipeline.records import FileRef
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
if sys.argv[1] == "passes":
    threading.Timer(0.3, lambda: list(map(os.close, held))).start()
else:
    backend._PAUSES_S = (0.01, 0.01)
try:
    print(storage.read_bytes(FileRef(path=sys.argv[2])))
except OSError as error:
    print(type(error).__name__, error.strerror)
"""


@pytest.mark.parametrize(
    ("duration", "expected"), [("passes", "b'data'"), ("lasts", "OSError Too many open files")]
)
def test_too_many_open_files(tmp_path, duration, expected):
    (tmp_path / "x").write_bytes(b"data")
    assert printed(TOO_MANY_OPEN_FILES, duration, tmp_path / "x", timeout=60).strip() == expected


def test_a_fault_that_lasts_is_not_a_reject(monkeypatch):
    monkeypatch.setattr(backend, "_PAUSES_S", (0.01, 0.01))
    with (
        pytest.raises(OSError, match="Input/output error"),
        storage.opened("/proc/self/mem") as file,
    ):
        file.read(8)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EAGAIN])
def test_a_call_is_repeated_until_it_succeeds(number, monkeypatch):
    monkeypatch.setattr(backend, "_PAUSES_S", (0.01, 0.01))
    errors = [OSError(number, "x"), OSError(number, "x")]

    def call(value):
        if errors:
            raise errors.pop()
        return value

    assert backend.retry(call)(7) == 7


def test_a_missing_file_is_looked_for_once():
    calls = []

    @backend.retry
    def call():
        calls.append(1)
        raise FileNotFoundError(errno.ENOENT, "x")

    with pytest.raises(FileNotFoundError):
        call()
    assert calls == [1]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pipe", "unreadable file: pipe: Not a regular file"),
        ("zero", "unreadable file: zero: Not a regular file"),
        ("folder", "unreadable file: folder: Is a directory"),
        ("file/x", "missing file: x"),
        ("x" * 300, "unreadable file: x+: File name too long"),
    ],
)
def test_what_is_not_a_file_is_rejected_at_once(tmp_path, name, reason):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"1")
    path = str(tmp_path / name)

    def read_handle():
        with storage.opened(path) as handle:
            handle.read(1)

    start = time.monotonic()
    for read in (
        lambda: storage.read_bytes(FileRef(path=path)),
        lambda: storage.read_start(path, 9),
        lambda: storage.sha256_of(path),
        read_handle,
    ):
        with pytest.raises(RecordError, match=f"^{reason}"):
            read()
    assert time.monotonic() - start < 5
