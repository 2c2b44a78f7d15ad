"""How lines of the log look to a user of a command."""

import logging

import pytest

from tfrecord_dataset.log_lines import LogLines


@pytest.mark.parametrize(
    ("name", "level", "line"),
    [
        ("beam_pipeline.sources.manifest.read", logging.WARNING, "note: a is b"),
        ("tfrecord_dataset.bare_files", logging.WARNING, "note: a is b"),
        ("beam_pipeline.write.receipts", logging.WARNING, "warning: a is b"),
        ("tfrecord_dataset.store.retries", logging.WARNING, "warning: a is b"),
        ("trainer.records", logging.ERROR, "ERROR trainer.records: a is b"),
        ("beam_pipelines", logging.WARNING, "WARNING beam_pipelines: a is b"),
        ("apache_beam.runners", logging.WARNING, "WARNING apache_beam.runners: a is b"),
    ],
)
def test_lines(name, level, line):
    record = logging.LogRecord(name, level, "x.py", 1, "a is %s", ("b",), None)
    assert LogLines().format(record) == line


def test_a_traceback_is_kept():
    error = ValueError("x")
    info = (type(error), error, None)
    record = logging.LogRecord("trainer", logging.WARNING, "x.py", 1, "a", (), info)
    assert LogLines().format(record) == "WARNING trainer: a\nValueError: x"
