"""Runs programs in a new Python process."""

import subprocess
import sys
from typing import Any


def printed(program: str, *arguments: object, **options: Any) -> str:
    """Run a program, which must succeed, and return what it prints.

    Args:
        program: Python code.
        arguments: Command-line arguments.
        options: Options of `subprocess.run`.
    """
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules_after(script: str, *, may_warn: bool = False) -> set[str]:
    """Return the modules that a script has loaded at its end."""
    before = "" if may_warn else "import warnings; warnings.simplefilter('error'); "
    return set(printed(f"{before}{script}\nimport sys; print(*sys.modules)").split())
