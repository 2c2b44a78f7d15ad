"""Windows users get a line of advice, not a traceback about a missing module."""

import subprocess
import sys

import pytest

# Import Python's own modules first: they would look for those of Windows.
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
