"""Everything that a process writes is without control characters."""

import logging
import subprocess
import sys

import pytest

from tfrecord_dataset import standard_streams

GUARDED = """
import json, logging, sys, threading, warnings
from tfrecord_dataset import standard_streams
standard_streams.guard(); standard_streams.guard()
print("\\x1b[2J out\\r", json.dumps({"a": "\\x7f"}), "https://u:pass@h/?x=kept", flush=True)
print("\\x1b[2J err \\u202e", file=sys.stderr)
logging.warning("https://u:pass@h/?sig=sign \\x9b1m")
warnings.warn("\\x07warned")
sys.stderr.writelines(["\\x1b[a\\n", "b\\n"])
print(sys.stderr.isatty(), sys.stderr.fileno(), sys.stderr.encoding)
print("\\r\\x1b[A bar", file=standard_streams.stderr_of_bars())
thread = threading.Thread(target=lambda: 1 / len("\\x1b" and ""), name="\\x1b[thread")
thread.start(); thread.join()
raise ValueError("\\x1b[31m https://u:pass@h/?sig=sign")
"""


def test_everything_that_a_process_writes():
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True)
    stdout, stderr = done.stdout.decode(), done.stderr.decode()
    assert stdout.splitlines() == [
        r'\u001b[2J out\u000d {"a": "\u007f"} https://u:pass@h/?x=kept',
        "False 2 utf-8",
    ]
    assert "\r\x1b[A bar\n" in stderr
    shown = stderr.replace("\r\x1b[A bar\n", "")
    for text in ("\\u001b[2J err \\u202e", "\\u0007warned", "\\u001b[a\nb\n", "\\u001b[thread"):
        assert text in shown
    assert "WARNING:root:https://***@h/?sig=*** \\u009b1m" in shown
    assert shown.endswith("ValueError: \\u001b[31m https://***@h/?sig=***\n")
    assert not [each for each in shown if not each.isprintable() and each != "\n"]


@pytest.mark.parametrize(
    ("name", "level", "line"),
    [
        ("beam_pipeline.sources.tables.read_tables", logging.WARNING, "note: a is b"),
        ("tfrecord_dataset.records.opening", logging.WARNING, "note: a is b"),
        ("beam_pipeline.write.receipts", logging.WARNING, "warning: a is b"),
        ("tfrecord_dataset.store.cache", logging.WARNING, "warning: a is b"),
        ("trainer.records", logging.ERROR, "ERROR trainer.records: a is b"),
        ("beam_pipelines", logging.WARNING, "WARNING beam_pipelines: a is b"),
        ("apache_beam.runners", logging.WARNING, "WARNING apache_beam.runners: a is b"),
    ],
)
def test_lines_of_the_log(name, level, line):
    record = logging.LogRecord(name, level, "x.py", 1, "a is %s", ("b",), None)
    assert standard_streams.LogLines().format(record) == line


def test_a_traceback_is_kept():
    error = ValueError("x")
    info = (type(error), error, None)
    record = logging.LogRecord("trainer", logging.WARNING, "x.py", 1, "a", (), info)
    assert standard_streams.LogLines().format(record) == "WARNING trainer: a\nValueError: x"


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&- <&-"])
def test_a_closed_stream_is_the_null_device(tmp_path, closed):
    """And no file that is opened later gets its number."""
    program = """
import sys
from tfrecord_dataset import standard_streams
standard_streams.guard()
file = open(sys.argv[1], "wb", buffering=0)
print("out", flush=True); print("err", file=sys.stderr, flush=True)
file.write(str(file.fileno() > 2).encode())
"""
    command = f'exec "$0" -c "$1" "$2" {closed}'
    path = tmp_path / "written"
    subprocess.run(["sh", "-c", command, sys.executable, program, path], check=True)
    assert path.read_bytes() == b"True"
