"""Beam's local runner, made to lose nothing and to wait for nothing.

All that this project changes of that runner's private parts is in this module.
"""

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from apache_beam.pipeline import Pipeline
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.runners.worker.data_plane import SizeBasedBufferingClosableOutputStream
from apache_beam.runners.worker.statesampler import StateSampler
from apache_beam.transforms import core, userstate

_SAMPLING_PERIOD_MS = 10
_FLUSH_BYTES = 512 << 10
_WARN_BYTES = 512 << 20  # Beam's own

_get_arguments = core.get_function_args_defaults
_get_specs = userstate.get_dofn_specs
_check = core._check_fn_use_yield_and_return
_check_code = functools.lru_cache(maxsize=4096)(_check)
_Specs = tuple[set[Any], set[Any]]
_specs_by_dofn: weakref.WeakKeyDictionary[Any, _Specs] = weakref.WeakKeyDictionary()


def local_runner() -> FnApiRunner:
    """Beam's FnApiRunner. DirectRunner would try Prism first, which wants a download.

    - A timer thread in its data plane races with the writer's buffer and loses records without a
      word; without time limit there is no timer (docs/design.md).
    - Every bundle ends by waiting for its sampling thread, which sleeps for up to 200 ms.
    - What a stage yields is copied three times at once, up to 10 MB of it.
    - Beam looks 9,000 times at the arguments of some 40 DoFns' methods before a build begins, and
      360 times for their state and timers, 0.3 s in all: once is enough.
    - Beam reads the source of each of them for a warning.
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
    core._check_fn_use_yield_and_return = _check_once
    core.get_function_args_defaults = _arguments
    userstate.get_dofn_specs = _specs
    return FnApiRunner()


def runs_here(pipeline: Pipeline) -> bool:
    """Whether that runner runs a pipeline: one process goes through all of it, bundle by bundle."""
    return isinstance(pipeline.runner, FnApiRunner)


@functools.wraps(_get_arguments)
def _arguments(function: Any) -> tuple[list[str], list[Any]]:
    if not isinstance(function, types.MethodType):
        return _get_arguments(function)  # type: ignore[no-any-return]
    names, defaults = _arguments_of_method(function.__func__)
    return list(names), list(defaults)


@functools.lru_cache(maxsize=4096)
def _arguments_of_method(function: Callable[..., Any]) -> tuple[list[str], list[Any]]:
    return _get_arguments(types.MethodType(function, object()))  # type: ignore[no-any-return]


@functools.wraps(_get_specs)
def _specs(dofn: Any) -> _Specs:
    specs = _specs_by_dofn.get(dofn)
    if specs is None:
        specs = _specs_by_dofn[dofn] = _get_specs(dofn)
    return specs


@functools.wraps(_check)
def _check_once(function: Any) -> bool:
    return _check_code(getattr(function, "__code__", function))  # type: ignore[no-any-return]
