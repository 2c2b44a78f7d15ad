"""One run of a pipeline by a runner that starts processes of its own, and leaves none."""

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.runners.portability.job_server import StopOnExitJobServer

_TALKERS = ("apache_beam.utils.subprocess_server", "apache_beam.runners.worker.data_plane")
_STARTING = ("Really ", "Waiting for grpc channel")
# Flink's client, of a JobManager that is gone: the launcher says it in a sentence.
_LOST = ("java.net.ConnectException", "org.apache.flink.runtime.rest.util.RestClientException")
# Of Java's job servers, or their end, to workers in this process whose last bundle is done.
_HANGING_UP = ("Multiplexer hanging up", "Stream removed (Socket closed)")


class Attempt:
    """A pipeline whose end is awaited in another thread, so that the launcher can look around.

    Attributes:
        result: Beam's PipelineResult, once it has started.
        error: What Beam raised at its end.
    """

    def __init__(self, pipeline: beam.Pipeline):
        self._pipeline = pipeline
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self.result: Any = None
        self.error: Exception | None = None

    def start(self) -> None:
        """Gives the job to its runner, from the main thread: Beam sets signal handlers."""
        self.result = self._pipeline.run()
        self._thread.start()

    def _wait(self) -> None:
        try:
            self.result.wait_until_finish()
        except Exception as error:
            self.error = error

    def has_ended(self) -> bool:
        """Whether the job has, as far as Beam knows; also where it has not been started."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Asks Beam to end the job."""
        with contextlib.suppress(Exception):  # then the job goes on, as `Launch` will see
            self.result.cancel()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leaves out what is no fault, or is told otherwise: that a job server starts, hangs up."""
    loggers = [logging.getLogger(), *map(logging.getLogger, _TALKERS)]
    hook = threading.excepthook

    def tell(args: threading.ExceptHookArgs) -> None:
        if not _hangs_up(args.exc_value):
            hook(args)

    for logger in loggers:
        logger.addFilter(_is_fault)
    threading.excepthook = tell
    try:
        yield
    finally:
        threading.excepthook = hook
        for logger in loggers:
            logger.removeFilter(_is_fault)


def _is_fault(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not _hangs_up(error) and not record.getMessage().startswith((*_STARTING, *_LOST))


def _hangs_up(error: BaseException | None) -> bool:
    return any(text in str(error) for text in _HANGING_UP)


@contextlib.contextmanager
def job_servers_stopped() -> Iterator[None]:
    """Stops the job servers that Beam starts meanwhile: its own way is left out by os._exit.

    Ctrl-C leaves them for as long as it takes to cancel the job; Beam would stop them first.
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
