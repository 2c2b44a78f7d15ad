"""The private parts of Beam that this project changes exist in the installed version."""

import inspect

import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.runners.worker.data_plane import SizeBasedBufferingClosableOutputStream
from apache_beam.runners.worker.statesampler import StateSampler

from beam_pipeline.running.local_runner import local_runner


@pytest.fixture
def beams_own(monkeypatch):
    """Beam as installed, restored after the test."""
    monkeypatch.setattr(worker_handlers, "DATA_BUFFER_TIME_LIMIT_MS", 1000)
    monkeypatch.setattr(worker_handlers, "STATE_CACHE_SIZE_MB", 100)
    monkeypatch.setattr(StateSampler.__init__, "__defaults__", (200,))
    stream = SizeBasedBufferingClosableOutputStream.__init__
    monkeypatch.setattr(stream, "__defaults__", (None, None, 10 << 20, 512 << 20))


def test_it_is_made_safe_and_quick(beams_own):
    assert isinstance(local_runner(), FnApiRunner)
    assert worker_handlers.DATA_BUFFER_TIME_LIMIT_MS == 0
    assert worker_handlers.STATE_CACHE_SIZE_MB == 0
    period = inspect.signature(StateSampler).parameters["sampling_period_ms"]
    assert period.default == 10
    stream = inspect.signature(SizeBasedBufferingClosableOutputStream).parameters
    assert {name: stream[name].default for name in stream} == {
        "close_callback": None,
        "flush_callback": None,
        "size_flush_threshold": 512 << 10,
        "large_buffer_warn_threshold_bytes": 512 << 20,
    }
