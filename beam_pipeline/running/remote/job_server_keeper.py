"""The process that keeps a job server of Java's for the next command, and ends it.

    python job_server_keeper.py FOLDER TOKEN PORT IDLE_S COMMAND…

In FOLDER:
    address.json   pid and token of this process, and the server's port, while it answers
    users          locked shared by commands that use the server, so that a killed one uses none
    log            what the server says

It ends on SIGTERM, with its server, or once nobody has used that for IDLE_S. No Beam here: it waits
for minutes, in 10 MiB.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

_LOOK_S = 0.5
_START_S = 60.0
_END_S = 10.0


def main() -> int:
    """Goes on in a process of its own, which nobody waits for; ends once the server answers.

    Returns:
        The exit code: 1 where the server does not start.
    """
    ours, keepers = os.pipe()
    if os.fork():
        os.close(keepers)
        return 0 if os.read(ours, 1) else 1
    os.setsid()  # Ctrl-C in a terminal is not for it
    os.close(ours)
    folder, token, port, idle_s, *command = sys.argv[1:]
    address = Path(folder, "address.json")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(Path(folder, "users"), "ab") as users, open(Path(folder, "log"), "wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            if _starts(server, int(port)):
                _tell(address, token, int(port))
                os.write(keepers, b"!")
                os.close(keepers)
                _wait(server, users, float(idle_s))
        finally:
            address.unlink(missing_ok=True)
            server.terminate()
            try:
                server.wait(_END_S)
            except subprocess.TimeoutExpired:
                server.kill()
    return 0


def _starts(server: "subprocess.Popen[bytes]", port: int) -> bool:
    deadline = time.monotonic() + _START_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
        except OSError:
            time.sleep(_LOOK_S / 5)
        else:
            return True
    return False


def _tell(address: Path, token: str, port: int) -> None:
    new = address.with_suffix(".new")
    new.write_text(json.dumps({"pid": os.getpid(), "token": token, "port": port}))
    new.replace(address)


def _wait(server: "subprocess.Popen[bytes]", users: IO[bytes], idle_s: float) -> None:
    """Returns, with `users` locked for itself, once nobody has used the server for so long."""
    last_used = time.monotonic()
    while server.poll() is None:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            last_used = time.monotonic()
        else:
            if time.monotonic() - last_used > idle_s:
                return
            fcntl.flock(users, fcntl.LOCK_UN)
        time.sleep(_LOOK_S)


if __name__ == "__main__":
    sys.exit(main())
