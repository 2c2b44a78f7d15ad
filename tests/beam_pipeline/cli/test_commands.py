"""What a person reads when a command fails."""

import errno
import logging
import os

import pytest

from beam_pipeline.cli import commands
from beam_pipeline.errors import ConfigError, DataError


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """`error` as an except clause holds it, raised from `cause` or while it was handled."""
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


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(ConfigError("no such thing"), 2, "error: no such thing\n", id="usage"),
        pytest.param(
            DataError("3 are bad [while running 'Write/Commit/CommitOnce']"),
            3,
            "error: 3 are bad\n",
            id="without the stage that Beam names",
        ),
        pytest.param(
            raised(RuntimeError("of Beam's"), FULL),
            1,
            "error: No space left on device; mend that and run the same command again",
            id="full disk",
        ),
        pytest.param(FORBIDDEN, 1, "error: Permission denied: /data/cells; mend", id="forbidden"),
        pytest.param(
            raised(RuntimeError("of Beam's"), KeyboardInterrupt()), 130, "interrupted;", id="Ctrl-C"
        ),
    ],
)
def test_a_failure_is_told_in_one_line(monkeypatch, capsys, error, code, message):
    def fail(args, options):
        raise error

    monkeypatch.setattr(commands, "_verify", fail)

    assert commands.main(["verify", "anything"]) == code
    told = capsys.readouterr().err
    assert told.startswith(message)
    assert told.count("\n") == 1


def test_what_nobody_foresaw_keeps_its_traceback(monkeypatch):
    error = RuntimeError("a bug")
    error.__cause__ = error  # as `raise error from error` leaves it

    def fail(args, options):
        raise error

    monkeypatch.setattr(commands, "_verify", fail)

    with pytest.raises(RuntimeError, match="a bug"):
        commands.main(["verify", "anything"])


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        pytest.param(DataError("3 are bad"), False, id="told by main"),
        pytest.param(FULL, False, id="a full disk"),
        pytest.param(ValueError("a bug"), True, id="a bug"),
    ],
)
def test_beam_logs_only_what_main_does_not_tell(error, shown):
    logger = logging.getLogger("apache_beam.runners.common")
    record = logger.makeRecord(
        logger.name, logging.ERROR, __file__, 1, error, (), (type(error), error, None)
    )

    assert commands._is_news(record) is shown
