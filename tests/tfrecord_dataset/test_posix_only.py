"""Windows gets one line that says what helps, not a traceback of a missing module."""

import subprocess
import sys

import pytest

# Python's own modules are imported first: they would look for Windows's.
START = """
import argparse, importlib.util, json, logging, multiprocessing.util, runpy, subprocess, sys
sys.platform, sys.modules["fcntl"] = "win32", None
runpy.run_module({package!r}, run_name="__main__")
"""


@pytest.mark.parametrize("package", ["beam_pipeline", "trainer"])
def test_commands_end_with_one_line_on_windows(package):
    command = [sys.executable, "-c", START.format(package=package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: this program cannot run on Windows")
    assert "WSL 2" in line
