"""A launcher filters some of Beam's messages."""

import logging
import threading

import pytest

from beam_pipeline.running.remote.attempt import quiet


@pytest.mark.parametrize(
    ("message", "is_reported"),
    [
        ("Multiplexer hanging up", False),
        ("Stream removed (Socket closed)", False),
        ("Connection reset", True),
    ],
)
def test_a_job_server_that_hangs_up_is_not_a_fault(message, is_reported, caplog, monkeypatch):
    """Beam logs a worker's broken connection, and raises it in a thread."""
    raised = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))
    logger = logging.getLogger("apache_beam.runners.worker.data_plane")

    def read():
        try:
            raise RuntimeError(message)
        except RuntimeError:
            logger.exception("Failed to read inputs in the data plane.")
            raise

    with quiet():
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()

    assert bool(raised) == is_reported
    assert ("Failed to read inputs" in caplog.text) == is_reported
