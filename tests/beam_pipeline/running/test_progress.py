"""Counts of stages add up, and are shown."""

import io
import re

import pytest

from beam_pipeline.running import progress


def test_beats_add_up(tmp_path):
    meters = [progress.Meter(str(tmp_path), stage) for stage in ("read", "read", "inspect")]
    for meter in meters:
        for _ in range(10):
            meter.add(3)
        meter.beat()
    assert progress.counts(str(tmp_path)) == {"read": 60, "inspect": 30}


def test_what_is_done_again_is_not_counted_twice(tmp_path):
    """A cluster does the part of a lost worker again, in another instance of its stage."""
    for stage, count in (("read", 720), ("read", 720), ("inspect", 720), ("write", 300)):
        meter = progress.Meter(str(tmp_path), stage)
        meter.add(count)
    assert progress.counts(str(tmp_path)) == {"read": 1440, "inspect": 720, "write": 300}
    progress.state_totals(str(tmp_path), {"read": 720, "inspect": 720, "write": 700})
    assert progress.counts(str(tmp_path)) == {"read": 720, "inspect": 720, "write": 300}
    (tmp_path / "totals").write_bytes(b"\0")
    assert progress.counts(str(tmp_path))["read"] == 1440


def test_a_damaged_count_counts_nothing(tmp_path):
    """Such files are left by a worker machine that lost power."""
    for number, content in enumerate((b"30", b"", b"\0\0\0", b"\xff", b"3.5")):
        (tmp_path / f"read-{number}").write_bytes(content)
    (tmp_path / "read-folder").mkdir()
    assert progress.counts(str(tmp_path)) == {"read": 30}


def test_beats_on_a_store_add_up(bucket):
    """A cluster's workers write their counts next to the output."""
    url, _ = bucket
    meters = [progress.Meter(f"{url}/job/progress", "write", beat_s=5) for _ in range(3)]
    for meter in meters:
        for _ in range(10):
            meter.add(3)
    assert progress.counts(f"{url}/job/progress") == {"write": 9}, "one request in five seconds"
    for meter in meters:
        meter.beat()
    assert progress.counts(f"{url}/job/progress") == {"write": 90}


def test_lines_appear(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_S", 0.02)
    with progress.shown(str(tmp_path)):
        shown = wait_for(capsys, "none yet")
        meter = progress.Meter(str(tmp_path), "read")
        meter.add(1234)
        meter.beat()
        shown += wait_for(capsys, "reading 1,234")
        progress.time.sleep(0.2)
    shown += capsys.readouterr().err
    assert shown.splitlines() == ["records: none yet", "records: reading 1,234"], "changes only"


def wait_for(capsys, text):
    """Return stderr once it contains `text`; the test's own time limit is a minute."""
    shown = ""
    for _ in range(3000):
        shown += capsys.readouterr().err
        if text in shown:
            return shown
        progress.time.sleep(0.02)
    pytest.fail(f"{text!r} did not appear in {shown!r}")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bars_end_at_the_last_count(tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    with progress.shown(str(tmp_path)):
        for stage, count in (("read", 20), ("write", 15)):
            meter = progress.Meter(str(tmp_path), stage)
            meter.add(count)
            meter.beat()
    last = terminal.getvalue()
    assert re.search(r"reading\s*: 20 records", last)
    assert re.search(r"writing\s*:\s+75%.* 15/20", last)
    assert "inspecting" not in last
    assert "/s" not in last, "no rate of less than a second"


def test_bars_leave_nothing_on_other_lines(tmp_path, monkeypatch):
    """What is printed next begins below them, on empty lines."""
    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_BEAT_S", 0.02)
    with progress.shown(str(tmp_path)):
        for stage in ("read", "inspect", "write", "write"):
            meter = progress.Meter(str(tmp_path), stage)
            meter.add(10)
            meter.beat()
            before = terminal.tell()
            while terminal.tell() < before + 200:  # two more looks
                progress.time.sleep(0.02)
    *bars, last = screen(terminal.getvalue())
    assert [bar.split()[0].rstrip(":") for bar in bars] == ["reading", "inspecting", "writing"]
    assert last == ""


def screen(text):
    """Return the lines that a terminal shows, up to the cursor's line and any text below it."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[A|.", text, re.DOTALL):
        match part:
            case "\x1b[A":
                row -= 1
            case "\n":
                row, column = row + 1, 0
            case "\r":
                column = 0
            case _:
                line = lines[row].ljust(column)
                lines[row] = line[:column] + part + line[column + 1 :]
                column += 1
        lines += [""] * (row + 1 - len(lines))
    return [line.rstrip() for line in lines]
