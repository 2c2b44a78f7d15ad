"""Everything that a process writes is without control characters."""

import logging
import os
import pty
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


ON_A_TERMINAL = """
import sys
from tfrecord_dataset import standard_streams
standard_streams.guard()
print("error: a note: b", "\\n warning: c", file=sys.stderr)
standard_streams.say("warning: \\x1b[2J d")
print(f"report: {standard_streams.address('/a b/report.html')}", file=sys.stderr)
print(f"report: {standard_streams.address('s3://a/report.html')}", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("environment", "red", "yellow", "end"),
    [
        pytest.param({"TERM": "xterm"}, "\x1b[31m", "\x1b[33m", "\x1b[0m", id="in color"),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, "", "", "", id="NO_COLOR"),
        pytest.param({"TERM": "dumb"}, "", "", "", id="a terminal without colors"),
    ],
)
def test_labels_are_colored_on_a_terminal(environment, red, yellow, end):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "", **environment}
    subprocess.run(
        [sys.executable, "-c", ON_A_TERMINAL], stderr=theirs, env=environment, check=True
    )
    os.close(theirs)
    assert os.read(ours, 10_000).decode().replace("\r", "").splitlines() == [
        f"{red}error{end}: a note: b ",
        " warning: c",
        f"{yellow}warning{end}: \\u001b[2J d",
        "report: file:///a%20b/report.html",
        "report: s3://a/report.html",
    ]
    os.close(ours)


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
