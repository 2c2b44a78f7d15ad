"""Errors of the user's own code, told as theirs: functions of options, others' layouts."""

import os
import types
from collections.abc import Collection, Iterator
from pathlib import Path

from tfrecord_dataset.errors import STEP
from tfrecord_dataset.shown_text import one_line

_ROOT = Path(__file__).parent.parent
_OURS = tuple(
    os.path.join(_ROOT, name, "") for name in ("tfrecord_dataset", "beam_pipeline", "trainer")
)
_PYTHONS = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = {"site-packages", "dist-packages"}
_OF_AUTOGRAPH = "__autograph_generated_file"  # what TensorFlow makes of functions

# File, line, function and module of a frame.
_Frame = tuple[str, int, str, str]


def told(error: BaseException, packages: Collection[str] = ()) -> str | None:
    """Where the user's code failed, and how: `own.py, line 3, in loss: KeyError: 'x'`.

    What it called in libraries is its own failure, too. The user's code is what lies neither in
    these packages, nor in Python's library, nor among what is installed, but for `packages`.

    Args:
        error: As an except clause holds it.
        packages: Installed ones that the user brings.

    Returns:
        One line; None if the error is not of the user's code.
    """
    if (each := _theirs(error, packages)) is None:
        return None
    file, line, function, _ = [frame for frame in _frames(each) if _is_users(frame, packages)][-1]
    inside = f", in {function}" if function != "<module>" else ""
    text = each.msg if isinstance(each, SyntaxError) else str(each)
    what = f"{type(each).__name__}: {text}" if text else type(each).__name__
    return one_line(f"{_short(file)}, line {line}{inside}: {what}")


def keep_theirs(error: BaseException, packages: Collection[str] = ()) -> None:
    """Leaves of an error of the user's code the frames of that code, and of what it called last.

    Args:
        error, packages: As `told` has them.
    """
    if (each := _theirs(error, packages)) is None:
        return
    parts = list(_parts(each.__traceback__))
    are_users = [_is_users(_frame(part), packages) for part in parts]
    if not any(are_users):  # AutoGraph's message has them
        return
    last = max(number for number, is_users in enumerate(are_users) if is_users)
    kept: types.TracebackType | None = None
    for number in reversed(range(len(parts))):
        part = parts[number]
        if are_users[number] or (number > last and not _is_beams(_frame(part))):
            kept = types.TracebackType(kept, part.tb_frame, part.tb_lasti, part.tb_lineno)
    error.__traceback__ = kept
    error.__cause__ = None
    error.args = tuple(STEP.sub("", each) if isinstance(each, str) else each for each in error.args)


def _theirs(error: BaseException, packages: Collection[str]) -> BaseException | None:
    """The innermost of the error and its causes that the user's code has raised, or called for."""
    for each in reversed(list(_chain(error))):
        own = [frame for frame in _frames(each) if _is_ours(frame) or _is_users(frame, packages)]
        if own and _is_users(own[-1], packages):
            return each
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes; AutoGraph's errors have the user's as their context."""
    seen: list[BaseException] = []  # an error may be its own cause
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        context = cause.__context__
        cause = context if hasattr(context, "ag_error_metadata") else cause.__cause__


def _frames(error: BaseException) -> Iterator[_Frame]:
    """The frames of a traceback, innermost last; those of AutoGraph in the user's files."""
    if translated := getattr(error, "ag_error_metadata", None):
        for each in reversed(translated.translated_stack):
            yield each.filename, each.lineno, each.function_name, ""
    else:
        yield from map(_frame, _parts(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        yield error.filename, error.lineno or 1, "<module>", ""


def _parts(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _frame(part: types.TracebackType) -> _Frame:
    code = part.tb_frame.f_code
    module = part.tb_frame.f_globals.get("__name__", "")
    return code.co_filename, part.tb_lineno, code.co_name, module


def _is_beams(frame: _Frame) -> bool:
    return frame[3].partition(".")[0] == "apache_beam"


def _is_ours(frame: _Frame) -> bool:
    return frame[0].startswith(_OURS)


def _is_users(frame: _Frame, packages: Collection[str]) -> bool:
    file, _, _, module = frame
    if module.partition(".")[0] in packages:
        return True
    if file.startswith("<"):
        return module == "__main__"  # typed at a prompt
    path = Path(file)
    is_file = path.is_absolute() and not path.name.startswith(_OF_AUTOGRAPH)  # compiled: relative
    others = _is_ours(frame) or file.startswith(_PYTHONS) or _INSTALLED & set(path.parts)
    return is_file and not others


def _short(file: str) -> str:
    """A file by its path in the working directory, if it lies there."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
