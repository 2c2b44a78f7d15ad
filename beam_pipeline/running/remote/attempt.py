"""Runs a pipeline on a runner that starts job servers, and stops these."""

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.runners.portability.job_server import StopOnExitJobServer

_TALKERS = ("", "apache_beam.utils.subprocess_server", "apache_beam.runners.worker.data_plane")
_NOISE = (
    *("Really ", "Waiting for grpc channel"),  # a job server starts
    # A job server ends while workers of this process are connected.
    *("Multiplexer hanging up", "Stream removed (Socket closed)"),
    # The JobManager is lost; the launcher has a message for it.
    *("java.net.ConnectException", "org.apache.flink.runtime.rest.util.RestClientException"),
)


class Attempt:
    """A pipeline whose end is awaited in another thread: its result, and its error at the end."""

    def __init__(self, pipeline: beam.Pipeline):
        self._pipeline = pipeline
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self.result: Any = None
        self.error: Exception | None = None

    def start(self) -> None:
        """Submit the job; in the main thread, as Beam sets signal handlers."""
        self.result = self._pipeline.run()
        self._thread.start()

    def _wait(self) -> None:
        try:
            self.result.wait_until_finish()
        except Exception as error:
            self.error = error

    def has_ended(self) -> bool:
        """Whether the job has ended or not started, as far as Beam knows."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Ask Beam to cancel the job; it continues if Beam cannot."""
        with contextlib.suppress(Exception):
            self.result.cancel()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Filter Beam's messages about the start and end of job servers."""
    loggers = [logging.getLogger(name) for name in _TALKERS]
    hook = threading.excepthook

    def report(args: threading.ExceptHookArgs) -> None:
        if not _is_noise(args.exc_value):
            hook(args)

    for logger in loggers:
        logger.addFilter(_is_message)
    threading.excepthook = report
    try:
        yield
    finally:
        threading.excepthook = hook
        for logger in loggers:
            logger.removeFilter(_is_message)


def _is_message(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not (_is_noise(error) or _is_noise(record.getMessage()))


def _is_noise(message: object) -> bool:
    return any(text in str(message) for text in _NOISE)


@contextlib.contextmanager
def job_servers_stopped() -> Iterator[None]:
    """Stop the job servers that Beam starts in this context; os._exit would skip Beam's own way.

    On Ctrl-C they continue until the job is cancelled; Beam would stop them first.
    """
    start, started = StopOnExitJobServer.start, []

    def remember(server: StopOnExitJobServer) -> Any:
        started.append(server)
        handler = signal.getsignal(signal.SIGINT)
        service = start(server)
        signal.signal(signal.SIGINT, handler)
        return service

    StopOnExitJobServer.start = remember
    try:
        yield
    finally:
        StopOnExitJobServer.start = start
        for server in started:
            server.stop()
