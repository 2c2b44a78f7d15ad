"""Beam's log lines at import are hidden."""

import logging
import subprocess
import sys

from beam_pipeline import beam_import


def test_one_line_is_left_out_and_only_meanwhile(caplog):
    with beam_import.quiet():
        logging.warning("apitools not found, and bigquery client libraries are not available")
        logging.warning("something else")
    logging.warning("apitools not found")

    assert caplog.messages == ["something else", "apitools not found"]


def test_the_log_of_whoever_imports_is_left_as_it_is():
    code = (
        "import logging\n"
        "import beam_pipeline\n"
        "beam_pipeline.build\n"
        "logging.getLogger('beam_pipeline.sources').warning('a note')\n"
        "print(logging.getLogger().handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "a note\n")
