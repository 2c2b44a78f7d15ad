"""Workers forked from a process that has imported what they need.

A TaskManager of Flink starts Python anew for every stage of a job: Beam keeps workers only where
its own classes are Flink's. Of a small build's CPU time that was half. So the first worker of a
parent starts a process beside itself, which imports, and forks the parent's later workers, until
nobody has asked it for one for a minute. The process that the parent has started stays, and ends
with its worker; the worker ends with it, however that ends.

Nothing heavy is imported here: the process that waits takes 20 ms.
"""

import contextlib
import fcntl
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from beam_pipeline.running.native_threads import ONE_THREAD

_IDLE_S = 60.0
_LONGEST_ADDRESS = 107  # of a socket, in bytes
_TASKS = Path("/proc/self/task")


def run(work: str, imports: Sequence[str], arguments: Sequence[str]) -> int:
    """Runs `work` of the arguments in a forked process if there is one to fork, else in this one.

    Args:
        work: "module:function" of a function of the arguments.
        imports: Modules that the process that is forked imports.
        arguments: Of the function.

    Returns:
        The exit code.
    """
    path = _socket_path()
    if path and (connection := _connected(path)):
        with connection:
            asked = json.dumps([list(arguments), dict(os.environ), os.getcwd()]).encode()
            with contextlib.suppress(OSError):  # it was just ending
                socket.send_fds(connection, [len(asked).to_bytes(4, "big")], [1, 2])
                connection.sendall(asked)
                if connection.recv(1) == b"+":
                    return int.from_bytes(connection.recv(1) or b"\1", "big")
    if path:
        subprocess.Popen(
            [sys.executable, "-m", __name__, path, work, *imports],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ONE_THREAD | os.environ,
        )
    return _call(work, arguments)


def _call(work: str, arguments: Sequence[str]) -> int:
    module, _, function = work.partition(":")
    getattr(importlib.import_module(module), function)(arguments)
    return 0


def _socket_path() -> str:
    """That of this process's parent; "" where nothing is forked."""
    parent = os.getppid()
    try:
        started = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:  # not Linux
        return ""
    folder = os.path.join(tempfile.gettempdir(), f"beam-workers-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    facts = os.lstat(folder)
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o7777777 != 0o40700:
        return ""  # somebody else's
    path = os.path.join(folder, f"{parent}-{started}")
    return path if len(os.fsencode(path)) <= _LONGEST_ADDRESS else ""


def _connected(path: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


def serve(path: str, work: str, imports: Sequence[str]) -> None:
    """Imports, then forks a process for each that connects, until nobody does for a minute."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another one still imports
        return
    for module in imports:
        importlib.import_module(module)
    if len(list(_TASKS.iterdir())) > 1:  # a fork would lack them, and may wait for them
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are forked
    with socket.socket(socket.AF_UNIX) as listener:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        listener.listen()
        listener.settimeout(_IDLE_S)
        try:
            while True:
                connection, _ = listener.accept()
                if not os.fork():
                    os.close(lock)
                    listener.close()
                    _work(connection, work)
                connection.close()
        except TimeoutError:
            os.unlink(path)
            os.unlink(f"{path}.lock")


def _work(connection: socket.socket, work: str) -> None:
    """What a forked process does, to its end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection.settimeout(None)
        size, outputs, _, _ = socket.recv_fds(connection, 4, 2)
        with connection.makefile("rb") as asked:
            arguments, environment, folder = json.loads(asked.read(int.from_bytes(size, "big")))
        for descriptor, output in enumerate(outputs, 1):
            os.dup2(output, descriptor)
            os.close(output)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        connection.sendall(b"+")
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        code = _call(work, arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code & 255]))
    os._exit(code & 255)


def _end_with(connection: socket.socket) -> None:
    """Ends this process once the one that stands for it is gone."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3:])
