"""What Beam logs at its import stays out of sight, and all else is seen."""

import logging

from beam_pipeline import beam_import


def test_one_line_is_left_out_and_only_meanwhile(caplog):
    with beam_import.quiet():
        logging.warning("apitools not found, and bigquery client libraries are not available")
        logging.warning("something else")
    logging.warning("apitools not found")

    assert caplog.messages == ["something else", "apitools not found"]
