"""Output of commands that fail."""

import errno
import os
import sys
from importlib.metadata import EntryPoint

import pytest

from beam_pipeline import option_values
from beam_pipeline.cli import commands
from beam_pipeline.errors import ConfigError, DataError
from tfrecord_dataset import plugins


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Return `error` as caught, raised from `cause` or while handling it."""
    try:
        try:
            if cause is not None:
                raise cause
        finally:
            raise error
    except BaseException as caught:
        return caught


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
FORBIDDEN = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/data/cells")


OF_A_DISK = raised(RuntimeError("of Beam's"), FULL)
OF_THE_USER = raised(RuntimeError("of Beam's"), KeyboardInterrupt())


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ConfigError("no such thing"), 2, "error: no such thing\n"),
        (DataError("3 are bad"), 3, "error: 3 are bad\n"),
        (OF_A_DISK, 1, "error: No space left on device; fix that and run the same command again\n"),
        (FORBIDDEN, 1, "error: Permission denied: /data/cells; fix"),
        (OF_THE_USER, 130, "interrupted;"),
        (MemoryError(), 1, "error: not enough "),
    ],
)
def test_a_failure_is_reported_in_one_line(monkeypatch, capsys, error, code, message):
    def fail(args, options):
        raise error

    monkeypatch.setitem(commands._COMMANDS, "verify", fail)

    assert commands.main(["verify", "anything"]) == code
    stderr = capsys.readouterr().err
    assert stderr.startswith(message)
    assert stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "exception", "message"),
    [
        (["verify", "/nosuch"], "NotADatasetError: ", "error: /nosuch is not a finished dataset"),
        (["build", "/nosuch", "--spilt", "a=1"], "ConfigError: ", "error: "),
    ],
)
def test_debug_adds_the_traceback(capsys, arguments, exception, message):
    assert commands.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()

    assert commands.main([*arguments, "--debug"]) == 2
    first, *_, exception_line, last = capsys.readouterr().err.splitlines()

    assert first == "Traceback (most recent call last):"
    assert exception in exception_line
    assert line.startswith(message)
    assert last == line


def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(commands, "open_dataset", None)

    with pytest.raises(TypeError, match="not callable"):
        commands.main(["verify", "anything"])


OWN_LAYOUT = """
import apache_beam as beam
from beam_pipeline import Layout, claim_of_files

def fail(path):
    raise ValueError("no game in " + path)

def read(claim, config, scratch):
    return beam.Create([claim.path]) | "Fail" >> beam.Map(fail)

def claim(tree, config):
    return claim_of_files("pgn", tree, [name for name in tree.files() if name.endswith(".pgn")])

LAYOUT = Layout(name="pgn", sign=".pgn files", claim=claim, read=READ)
"""


@pytest.mark.parametrize(
    ("read", "function"),
    [
        pytest.param("read", "fail", id="in the job"),
        pytest.param(
            "lambda claim, config, scratch: fail(claim.path)", "fail", id="before the job"
        ),
    ],
)
def test_an_error_of_anothers_layout_is_shown_as_theirs(
    tmp_path, monkeypatch, capsys, read, function
):
    code = tmp_path / "site-packages"
    code.mkdir()
    (code / "own_pgn.py").write_text(OWN_LAYOUT.replace("READ", read))
    (tmp_path / "games").mkdir()
    (tmp_path / "games/a.pgn").write_text("e4 e5")
    monkeypatch.syspath_prepend(code)
    monkeypatch.delitem(sys.modules, "own_pgn", raising=False)
    entry = EntryPoint(name="pgn", value="own_pgn:LAYOUT", group=option_values.LAYOUT_GROUP)
    monkeypatch.setattr(plugins, "registered", lambda group: [entry])

    exit_code = commands.main(
        ["build", str(tmp_path / "games"), "--output", str(tmp_path / "data"), "--layout", "pgn"]
    )

    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"error in your code: {code}/own_pgn.py, line 6, in {function}: ")
    assert "ValueError: no game in" in last
    assert exit_code == 1
