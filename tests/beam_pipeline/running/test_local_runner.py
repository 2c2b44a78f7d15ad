"""What is changed of Beam's private parts is still there in the Beam that is installed."""

import inspect

import apache_beam as beam
import pytest
from apache_beam.coders import VarIntCoder
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.runners.worker.data_plane import SizeBasedBufferingClosableOutputStream
from apache_beam.runners.worker.statesampler import StateSampler
from apache_beam.transforms import core, userstate

from beam_pipeline.running.local_runner import local_runner


class _Numbers(beam.DoFn):
    def process(self, element, start=beam.DoFn.TimestampParam, *, scale=1):
        yield element * scale


class _Sums(beam.DoFn):
    SUM = userstate.CombiningValueStateSpec("sum", VarIntCoder(), sum)

    def process(self, element, total=beam.DoFn.StateParam(SUM)):  # noqa: B008
        total.add(element)


@pytest.fixture
def beams_own(monkeypatch):
    """Beam as it is installed, and again so once the test has ended."""
    arguments = inspect.unwrap(core.get_function_args_defaults)
    monkeypatch.setattr(core, "get_function_args_defaults", arguments)
    specs = inspect.unwrap(userstate.get_dofn_specs)
    monkeypatch.setattr(userstate, "get_dofn_specs", specs)
    check = inspect.unwrap(core._check_fn_use_yield_and_return)
    monkeypatch.setattr(core, "_check_fn_use_yield_and_return", check)
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


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(_Numbers().process, id="a method"),
        pytest.param(beam.DoFn().start_bundle, id="a method of Beam's"),
        pytest.param(lambda element, by=2: element * by, id="a function"),
        pytest.param(_Numbers.process, id="an unbound method"),
    ],
)
def test_arguments_are_as_beam_finds_them(beams_own, function):
    expected = core.get_function_args_defaults(function)
    local_runner()
    assert core.get_function_args_defaults is not inspect.unwrap(core.get_function_args_defaults)
    assert core.get_function_args_defaults(function) == expected
    assert core.get_function_args_defaults(function) == expected  # the second time from memory


@pytest.mark.parametrize("expected", [True, False])
def test_a_process_method_that_yields_and_returns_is_told_each_time(beams_own, expected):
    def both(element):
        yield element
        return [element]

    function = both if expected else _Numbers().process
    local_runner()
    for _ in range(2):
        assert core._check_fn_use_yield_and_return(function) == expected


@pytest.mark.parametrize("dofn", [_Numbers(), _Sums()], ids=["neither", "state"])
def test_states_are_as_beam_finds_them(beams_own, dofn):
    expected = userstate.get_dofn_specs(dofn)
    local_runner()
    assert userstate.get_dofn_specs is not inspect.unwrap(userstate.get_dofn_specs)
    assert userstate.get_dofn_specs(dofn) == expected
    assert userstate.get_dofn_specs(dofn) == expected  # the second time from memory
    assert userstate.is_stateful_dofn(dofn) == isinstance(dofn, _Sums)
