"""Programs in one process, stopped before every call that others see, and resumed by a schedule.

Each program is a thread, of which one runs at a time. It stops in `stop`, which stands before
calls to the operating system or a store; whoever explores says for how many calls it goes on. A
program that is killed makes no further call, in its clean-up neither, but what it has open is
closed, as the operating system does. So a run is decided by its schedule alone, and can be
repeated (the method of FoundationDB's simulation).

    first, second = Program(build), Program(build)
    first.go(17)      # 17 calls
    first.kill()
    second.go()       # until it ends
"""

import builtins
import concurrent.futures
import fcntl
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

# Before a look (`stat`) alone nothing stops: what follows it, does.
_CALLS = (
    *("open", "scandir", "mkdir", "rmdir", "unlink", "remove", "rename", "replace"),
    *("link", "chmod"),
)
_here = threading.local()


class Killed(BaseException):
    """The program is gone; nothing catches it."""


class Program:
    """A program that is stopped until it is told to go on.

    Attributes:
        calls: What it has called, or is about to.
        ended: Whether it has returned, failed or was killed.
        killed: Whether it was killed.
        result: What it returned, or None.
        error: What it raised, or None.
    """

    def __init__(self, run: Callable[[], Any]):
        self.calls: list[str] = []
        self.ended = self.killed = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._run = run
        self._left: int | None = 0
        self._resumed, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._main, daemon=True).start()

    def _main(self) -> None:
        _here.program = self
        self._resumed.acquire()
        try:
            if not self.killed:
                self.result = self._run()
        except BaseException as error:
            self.error = error
        self.ended = True
        self._stopped.release()

    def go(self, calls: int | None = None) -> None:
        """Goes on for so many calls, or until it ends."""
        if self.ended or calls == 0:
            return
        self._left = calls
        self._resumed.release()
        self._stopped.acquire()

    def kill(self) -> None:
        """Ends it before its next call."""
        self.killed = True
        self.go()

    def stop(self, call: str) -> None:
        """Before each call."""
        self.calls.append(call)
        if self._left == 0 and not self.killed:
            self.pause()
        if self.killed:
            raise Killed
        if self._left is not None:
            self._left -= 1

    def pause(self) -> None:
        """Lets others go on."""
        self._stopped.release()
        self._resumed.acquire()


def stop(call: str) -> None:
    """Stands before a call: here the program of this thread may be stopped, or end."""
    if program := getattr(_here, "program", None):
        program.stop(call)


class OneAtATime(concurrent.futures.Executor):
    """Stands for a ThreadPoolExecutor: what it is given is called in its order, at once."""

    def __init__(self, *_: Any) -> None:
        pass

    def submit(self, function: Any, /, *args: Any, **options: Any) -> Any:
        """Calls it at once."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(function(*args, **options))
        except BaseException as error:
            future.set_exception(error)
        return future


def stop_at_file_calls(patch: pytest.MonkeyPatch, root: str, modules: Any) -> None:
    """Programs stop at each call about a file below `root`; nothing waits for the disk.

    Args:
        patch: Of the test.
        root: A folder.
        modules: Those that call `open`.
    """

    def stopping(name: str, call: Any) -> Any:
        def called(*args: Any, **options: Any) -> Any:
            path = args[0] if args else options.get("path")
            if not isinstance(path, int):
                path = os.fspath(path)
                if options.get("dir_fd") is not None or path.startswith(root):
                    stop(f"{name} {path.removeprefix(root)}")
            return call(*args, **options)

        return called

    for name in _CALLS:
        patch.setattr(os, name, stopping(name, getattr(os, name)))
    for module in modules:
        patch.setattr(module, "open", stopping("open", builtins.open), raising=False)
    flock = fcntl.flock

    def locking(descriptor: int, how: int) -> None:
        stop("flock")
        flock(descriptor, how)

    patch.setattr(fcntl, "flock", locking)
    patch.setattr(os, "fsync", lambda descriptor: stop("fsync"))
