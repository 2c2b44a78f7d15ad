"""Job servers that stay for the next command: `--keep-job-server`, ended by `--stop-job-server`.

Each has a folder in the user's state folder, whose name says what it was started with: a command of
another Beam, jar or cluster starts its own. Its process is `job_server_keeper`'s. Whatever lies in
the folder counts only while the process of that pid has the token in its command line.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, UnavailableError

IDLE_S = 900
_END_S = 20.0
_LOOK_S = 0.1


class KeptServer(NamedTuple):
    """A job server that runs.

    Attributes:
        pid: Of its keeper, which ends it.
        port: Where it takes jobs, on this machine.
        folder: Its folder.
    """

    pid: int
    port: int
    folder: Path


def servers_folder() -> Path:
    """Where they are known: in `$XDG_STATE_HOME`, or in `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "beam-tfrecords" / "job-servers"


def running() -> list[KeptServer]:
    """All of this user's."""
    folders = sorted(servers_folder().glob("*"))
    return [server for folder in folders if (server := _running(folder))]


@contextlib.contextmanager
def used(command: Sequence[str], identity: str, idle_s: float = IDLE_S) -> Iterator[int]:
    """The port of the job server of this command, which is started unless one runs.

    Args:
        command: Of its process; "{port}" and "{folder}" stand for a free port and its folder.
        identity: What else a server must have been started with, such as a version.
        idle_s: After so many seconds without a user a server that is started here ends.

    Raises:
        UnavailableError: It does not start.
    """
    folder = servers_folder() / hashlib.sha256("\n".join([identity, *command]).encode()).hexdigest()
    folder = folder.with_name(folder.name[:16])
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(folder / "users", "ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)  # waits for one that is just ending
        with open(folder / "starting", "ab") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            server = _running(folder) or _started(folder, command, idle_s)
        yield server.port


def stop(server: KeptServer) -> None:
    """Ends a job server that nobody uses.

    Raises:
        ConfigError: A command uses it.
        BeamTFRecordsError: It does not end.
    """
    with open(server.folder / "users", "ab") as users:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                f"a build uses the job server of process {server.pid}; wait for its end, then run "
                "the same command again"
            ) from error
        if _running(server.folder) != server:
            return
        os.kill(server.pid, signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while psutil.pid_exists(server.pid):
            if time.monotonic() > deadline:
                raise BeamTFRecordsError(
                    f"the job server of process {server.pid} does not end; end it by "
                    f"`kill -9 {server.pid}`"
                )
            time.sleep(_LOOK_S)


def _running(folder: Path) -> KeptServer | None:
    try:
        stated = json.loads((folder / "address.json").read_text())
        pid, token, port = int(stated["pid"]), str(stated["token"]), int(stated["port"])
        is_keeper = token in psutil.Process(pid).cmdline()
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return None
    return KeptServer(pid, port, folder) if is_keeper else None


def _started(folder: Path, command: Sequence[str], idle_s: float) -> KeptServer:
    """Starts a server, and waits until it answers."""
    artifacts = folder / "artifacts"
    shutil.rmtree(artifacts, ignore_errors=True)  # of one that was killed
    port, token = _free_port(), secrets.token_hex(16)
    given = [part.format(port=port, folder=artifacts) for part in command]
    keeper = [sys.executable, "-I", str(Path(__file__).with_name("job_server_keeper.py"))]
    subprocess.run(
        [*keeper, str(folder), token, str(port), str(idle_s), *given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        check=False,
    )
    if server := _running(folder):
        return server
    raise UnavailableError(
        f"the job server does not start; {folder / 'log'} says why. Without --keep-job-server the "
        "build starts one of its own"
    )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])
