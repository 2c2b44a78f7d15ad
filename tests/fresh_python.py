"""Programs in a Python of their own."""

import subprocess
import sys
from typing import Any


def printed(program: str, *arguments: object, **options: Any) -> str:
    """What a program prints, which ends well.

    Args:
        program: Its text.
        arguments: Of its command line.
        options: Of `subprocess.run`.
    """
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules_after(script: str, *, may_warn: bool = False) -> set[str]:
    """The modules that are loaded after a script."""
    before = "" if may_warn else "import warnings; warnings.simplefilter('error'); "
    return set(printed(f"{before}{script}\nimport sys; print(*sys.modules)").split())
