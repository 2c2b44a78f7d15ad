"""Runs the code blocks of pages, and compares the output that they show."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

Done = subprocess.CompletedProcess[str]

_FENCE = re.compile(r"^```(bash|python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Log lines of libraries: absl's "I0000 00:00:", glog's "2026-01-01 12:00:00.1: W tensorflow/",
# Python's "WARNING:absl:", warnings of modules, Abseil's and oneDNN's notices.
NOISE = re.compile(
    r"^(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d .*: [IWEF] |(?-i:INFO|WARNING|ERROR):"
    r"|\S+\.py:\d+: \w*Warning)"
    r"|absl|cuda|onednn|TF-TRT|apache_beam|tensorflow/|site-packages",
    re.IGNORECASE | re.MULTILINE,
)


def fences(text: str) -> list[tuple[str, str]]:
    """Return (language, code) of a page's blocks that are run, or that show output."""
    return _FENCE.findall(text)


def commands(code: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block."""
    for line in code.replace("\\\n", "").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def not_printed(shown: str, printed: str) -> list[str]:
    """Return the lines of an output block that match no printed line; "…" is any text."""
    return [
        line
        for line in shown.splitlines()
        if not re.search(
            f"^{'.*'.join(map(re.escape, line.rstrip().split('…')))} *$", printed, re.MULTILINE
        )
    ]


def run(words: list[str], folder: Path, env: Mapping[str, str] | None = None) -> Done:
    """Run a command, which must succeed; our modules must do so without noise."""
    program = Path(sys.executable).with_name(words[0])
    done = subprocess.run(
        [program, *words[1:]], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, (words, done.stderr)
    is_ours = words[0].startswith("beam-tfrecords")
    assert not (is_ours and NOISE.search(done.stderr)), (words, done.stderr)
    return done


def play(
    text: str,
    folder: Path,
    change: Callable[[list[str]], list[str]] = list,
    env: Mapping[str, str] | None = None,
) -> list[tuple[list[str], Done]]:
    """Run a page's snippets in order, and compare their output with the shown one.

    Args:
        text: The page.
        folder: Working directory.
        change: Changes the words of a command; returns none to skip it.
        env: Environment variables.

    Returns:
        (words, result) of each command.
    """
    ran, printed, is_shown = [], "", False
    for language, code in fences(text):
        if language == "text":
            assert not not_printed(code, printed), printed
            is_shown = True
            continue
        for words in [["python", "-c", code]] if language == "python" else commands(code):
            if words := change(words):
                ran.append((words, run(words, folder, env)))
                printed = "" if is_shown else printed
                is_shown = False
                printed += ran[-1][1].stdout + ran[-1][1].stderr
    return ran
