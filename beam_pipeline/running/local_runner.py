"""Beam's local runner with settings that lose no records and avoid waiting.

This is the only module that changes that runner's private parts.
"""

from apache_beam.pipeline import Pipeline
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.runners.worker.data_plane import SizeBasedBufferingClosableOutputStream
from apache_beam.runners.worker.statesampler import StateSampler

_SAMPLING_PERIOD_MS = 10
_FLUSH_BYTES = 512 << 10
_WARN_BYTES = 512 << 20  # Beam's own


def local_runner() -> FnApiRunner:
    """Return Beam's FnApiRunner; DirectRunner would try Prism first, which needs a download.

    - A timer thread in its data plane races with the writer's buffer and loses records silently;
      without a time limit there is no timer (docs/design.md).
    - Every bundle waits at its end for a sampling thread that sleeps for up to 200 ms.
    - A stage's output is copied three times at once, up to 10 MB of it.
    - Side inputs are in memory already. To cache them Beam measures them, and for that visits the
      names of all modules.
    """
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    worker_handlers.STATE_CACHE_SIZE_MB = 0
    StateSampler.__init__.__defaults__ = (_SAMPLING_PERIOD_MS,)
    SizeBasedBufferingClosableOutputStream.__init__.__defaults__ = (
        None,
        None,
        _FLUSH_BYTES,
        _WARN_BYTES,
    )
    return FnApiRunner()


def runs_here(pipeline: Pipeline) -> bool:
    """Whether that runner runs a pipeline, in one process and bundle by bundle."""
    return isinstance(pipeline.runner, FnApiRunner)
