"""Errors of the user's own code, told as theirs: functions of options, others' layouts."""

import os
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path

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
    for each in reversed(list(_chain(error))):
        own = [frame for frame in _frames(each) if _is_ours(frame) or _is_users(frame, packages)]
        if own and _is_users(own[-1], packages):
            file, line, function, _ = own[-1]
            inside = f", in {function}" if function != "<module>" else ""
            text = each.msg if isinstance(each, SyntaxError) else str(each)
            what = f"{type(each).__name__}: {text}" if text else type(each).__name__
            return one_line(f"{_short(file)}, line {line}{inside}: {what}")
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
        for frame, line in traceback.walk_tb(error.__traceback__):
            code = frame.f_code
            yield code.co_filename, line, code.co_name, frame.f_globals.get("__name__", "")
    if isinstance(error, SyntaxError) and error.filename:
        yield error.filename, error.lineno or 1, "<module>", ""


def _is_ours(frame: _Frame) -> bool:
    return frame[0].startswith(_OURS)


def _is_users(frame: _Frame, packages: Collection[str]) -> bool:
    file, _, _, module = frame
    if module.partition(".")[0] in packages:
        return True
    path = Path(file)
    is_file = path.is_absolute() and not path.name.startswith(_OF_AUTOGRAPH)  # compiled: relative
    others = _is_ours(frame) or file.startswith(_PYTHONS) or _INSTALLED & set(path.parts)
    return is_file and not others


def _short(file: str) -> str:
    """A file by its path in the working directory, if it lies there."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
