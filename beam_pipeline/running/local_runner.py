"""Beam's local runner, made to lose nothing and to wait for nothing.

All that this project changes of that runner's private parts is in this module.
"""

from apache_beam.pipeline import Pipeline
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.runners.worker.data_plane import SizeBasedBufferingClosableOutputStream
from apache_beam.runners.worker.statesampler import StateSampler

_SAMPLING_PERIOD_MS = 10
_FLUSH_BYTES = 512 << 10
_WARN_BYTES = 512 << 20  # Beam's own


def local_runner() -> FnApiRunner:
    """Beam's FnApiRunner. DirectRunner would try Prism first, which wants a download.

    - A timer thread in its data plane races with the writer's buffer and loses records without a
      word; without time limit there is no timer (docs/design.md).
    - Every bundle ends by waiting for its sampling thread, which sleeps for up to 200 ms.
    - What a stage yields is copied three times at once, up to 10 MB of it.
    - Side inputs are in memory already. To keep them a second time Beam measures them, and for that
      goes through the names of all modules.
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
    """Whether that runner runs a pipeline: one process goes through all of it, bundle by bundle."""
    return isinstance(pipeline.runner, FnApiRunner)
