"""Ctrl-C ends a command whose request waits for a store; Windows gets a line of advice."""

import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys
from tfrecord_dataset.interrupts import ending_blocked_calls
from tfrecord_dataset.store import requests
with ending_blocked_calls():
    try:
        requests.head(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit("the library has returned")
"""


def test_ctrl_c_ends_a_request_that_waits(bucket):
    url, store = bucket
    store.outage("503", 600)
    waiting = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, f"{url}/x"], stderr=subprocess.PIPE, text=True
    )
    assert store.out.wait(60)
    waiting.send_signal(signal.SIGINT)
    _, output = waiting.communicate(timeout=60)
    assert (waiting.returncode, output) == (
        130,
        "interrupted; run the same command again to resume\n",
    )


def test_ctrl_c_is_an_exception_where_python_runs():
    program = (
        "import time\n"
        "from tfrecord_dataset.interrupts import ending_blocked_calls\n"
        "try:\n"
        "    with ending_blocked_calls():\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(4)\n"
        "    print('tidied up')\n"
    )
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert (running.returncode, output) == (0, "tidied up\n")


@pytest.mark.parametrize("package", ["beam_pipeline", "trainer"])
def test_ctrl_c_while_a_command_is_imported(package):
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'tfrecord_dataset.standard_streams':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        f"from {package}.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# Import Python's own modules first: they would look for those of Windows.
START = """
import argparse, importlib.util, json, logging, multiprocessing.util, runpy, shutil, subprocess, sys
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
