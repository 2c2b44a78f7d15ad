"""What the pages show: blocks of code, and lines of what commands print."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(r"^```(bash|python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def fences(page: Path) -> list[tuple[str, str]]:
    """(language, code) of the blocks of a page that are run, or that show what they print."""
    return _FENCE.findall(page.read_text())


def commands(code: str) -> Iterator[list[str]]:
    """The words of each command of a block."""
    for line in code.replace("\\\n", "").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def not_printed(shown: str, printed: str) -> list[str]:
    """The lines of a block of output that no printed line equals; "…" is any text."""
    return [
        line
        for line in shown.splitlines()
        if not re.search(
            f"^{'.*'.join(map(re.escape, line.rstrip().split('…')))} *$", printed, re.MULTILINE
        )
    ]
