"""Explains errors that these packages did not raise: in the user's own code, or of memory."""

import os
import resource
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tfrecord_dataset.shown_text import one_line

_ROOT = Path(__file__).parent.parent
_OURS = tuple(f"{_ROOT / name}/" for name in ("tfrecord_dataset", "beam_pipeline", "trainer"))
_LIBRARY = os.path.dirname(os.__file__) + "/"
_INSTALLED = {"site-packages", "dist-packages"}


class _Frame(NamedTuple):
    file: str
    line: int
    function: str
    module: str = ""


def place_of(error: BaseException, packages: Collection[str] = ()) -> str | None:
    """Describe an error in the user's code: `own.py, line 3, in loss: KeyError: 'x'`.

    User code is everything except these packages, Python's library and installed packages other
    than `packages`. An error in a library that user code called counts as the user's.

    Causes are searched first. None if the error is not from the user's code.
    """
    for each in reversed(list(_chain(error))):
        known = [
            (is_users, frame)
            for frame in _frames(each)
            if (is_users := _is_users(frame, packages)) or frame.file.startswith(_OURS)
        ]
        if known and known[-1][0]:
            frame = known[-1][1]
            inside = f", in {frame.function}" if frame.function != "<module>" else ""
            path, here = Path(frame.file), Path.cwd()
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            what = "".join(traceback.format_exception_only(each)[-1:]).strip()
            return one_line(f"{shown}, line {frame.line}{inside}: {what}")
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes; AutoGraph's errors have the user's as their context."""
    seen: list[BaseException] = []  # guards against cycles
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        context = cause.__context__
        cause = context if hasattr(context, "ag_error_metadata") else cause.__cause__


def _frames(error: BaseException) -> Iterator[_Frame]:
    """Yield the frames of a traceback, innermost last, with AutoGraph's mapped to user files."""
    if translated := getattr(error, "ag_error_metadata", None):
        for each in reversed(translated.translated_stack):
            yield _Frame(each.filename, each.lineno, each.function_name)
    else:
        for frame, line in traceback.walk_tb(error.__traceback__):
            code, module = frame.f_code, frame.f_globals.get("__name__", "")
            yield _Frame(code.co_filename, line, code.co_name, module)
    if isinstance(error, SyntaxError) and error.filename:
        yield _Frame(error.filename, error.lineno or 1, "<module>")


def _is_users(frame: _Frame, packages: Collection[str]) -> bool:
    if frame.module.partition(".")[0] in packages:
        return True
    if frame.file.startswith("<"):
        return frame.module == "__main__"  # typed at a prompt
    path = Path(frame.file)
    is_compiled = not path.is_absolute() or path.name.startswith("__autograph_generated_file")
    is_others = frame.file.startswith((*_OURS, _LIBRARY)) or _INSTALLED & set(path.parts)
    return not is_compiled and not is_others


_OPTIONS = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA}
# Messages of the dynamic loader, Python's importer and protobuf for a refused allocation.
_REFUSED = ("failed to map segment", "cannot allocate memory", "without exception set", "of memory")


def shortage(error: BaseException) -> str | None:
    """Return the message for an error that a lack of memory caused; None for others.

    Errors other than MemoryError count only while this process's memory is limited.
    """
    limited = [
        option
        for option, kind in _OPTIONS.items()
        if resource.getrlimit(kind)[0] != resource.RLIM_INFINITY
    ]
    is_refused = bool(limited) and any(text in str(error).lower() for text in _REFUSED)
    if not (isinstance(error, MemoryError) or is_refused):
        return None
    if limited:
        return f"not enough address space for this process; raise {' and '.join(limited)}"
    return "not enough memory; end other programs, or use a machine with more"
