"""Workers forked from a process that has imported what they need.

A TaskManager of Flink starts Python anew for every stage of a job, and importing Beam takes a
second of CPU time. So the first worker of a parent starts a process that imports, and forks the
parent's later workers, until nobody has asked it for one for a minute. Linux only.
"""

import contextlib
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from beam_pipeline.running.native_threads import ONE_THREAD

_IDLE_S = 60.0
_MOST_BYTES = 1 << 16


def run(work: str, imports: Sequence[str], arguments: Sequence[str]) -> int:
    """The exit code of `work`, a "module:function" of the arguments; in a fork if there can be."""
    try:
        started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:  # not Linux
        return _call(work, arguments)
    address = f"\0beam-tfrecords-{os.getppid()}-{started}"
    with contextlib.suppress(OSError), _socket() as asked:
        try:
            asked.connect(address)
        except ConnectionRefusedError:
            server = [sys.executable, "-m", __name__, address[1:], work, *imports]
            null = subprocess.DEVNULL
            environment = ONE_THREAD | os.environ
            subprocess.Popen(server, stdin=null, stdout=null, stderr=null, env=environment)
        else:
            if _is_own(asked):
                socket.send_fds(asked, [json.dumps(list(arguments)).encode()], [1, 2])
                if asked.recv(1) == b"+":
                    return int.from_bytes(asked.recv(1) or b"\1", "big")
    return _call(work, arguments)


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _is_own(connection: socket.socket) -> bool:
    """Whether the other end is this user's: anyone may use such an address."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", peer)[1] == os.geteuid())


def _call(work: str, arguments: Sequence[str]) -> int:
    module, _, function = work.partition(":")
    getattr(importlib.import_module(module), function)(arguments)
    return 0


def serve(address: str, work: str, imports: Sequence[str]) -> None:
    """Imports, then forks a process for each that connects, until nobody does for a minute."""
    with _socket() as listener:
        try:
            listener.bind(f"\0{address}")  # else another one serves
        except OSError:
            return
        listener.listen()
        for module in imports:
            importlib.import_module(module)
        if len(os.listdir("/proc/self/task")) > 1:  # a fork would lack them, and may wait for them
            return
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are forked
        listener.settimeout(_IDLE_S)
        with contextlib.suppress(TimeoutError):
            while True:
                connection, _ = listener.accept()
                if _is_own(connection) and not os.fork():
                    listener.close()
                    _work(connection, work)
                connection.close()


def _work(connection: socket.socket, work: str) -> None:
    """What a forked process does, to its end, or that of the process that it works for."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection.settimeout(None)
        asked, outputs, _, _ = socket.recv_fds(connection, _MOST_BYTES, 2)
        for descriptor, output in enumerate(outputs, 1):
            os.dup2(output, descriptor)
            os.close(output)
        connection.sendall(b"+")
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        code = _call(work, json.loads(asked))
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
    connection.recv(1)
    os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3:])
