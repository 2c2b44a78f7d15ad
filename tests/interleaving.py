"""Programs in one process, stopped before every externally visible call, run by a schedule.

Programs are threads, and one runs at a time. `stop` stops a program before each call to the
operating system or a store, and the schedule tells how many calls it makes next. A killed program
makes no further call, not even to clean up, but its open files are closed, as the operating
system does. The schedule determines a run, which can be repeated (FoundationDB's
simulation uses the same method).

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

# Programs do not stop before a mere `stat`, but before the call after it.
_CALLS = (
    *("open", "scandir", "mkdir", "rmdir", "unlink", "remove", "rename", "replace"),
    *("link", "chmod"),
)
_here = threading.local()


class Killed(BaseException):
    """Ends a killed program; nothing catches it."""


class Program:
    """A program that waits for `go`.

    Attributes:
        calls: Calls that it has made, and the next one.
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
        """Continue for a number of calls, or until it ends."""
        if self.ended or calls == 0:
            return
        self._left = calls
        self._resumed.release()
        self._stopped.acquire()

    def kill(self) -> None:
        """End it before its next call."""
        self.killed = True
        self.go()

    def stop(self, call: str) -> None:
        """Wait before a call."""
        self.calls.append(call)
        if self._left == 0 and not self.killed:
            self.pause()
        if self.killed:
            raise Killed
        if self._left is not None:
            self._left -= 1

    def pause(self) -> None:
        """Let other programs continue."""
        self._stopped.release()
        self._resumed.acquire()


def stop(call: str) -> None:
    """Stop or end this thread's program before a call."""
    if program := getattr(_here, "program", None):
        program.stop(call)


class OneAtATime(concurrent.futures.Executor):
    """Replacement of ThreadPoolExecutor that calls each function immediately, in order."""

    def __init__(self, *_: Any) -> None:
        pass

    def submit(self, function: Any, /, *args: Any, **options: Any) -> Any:
        """Call the function immediately."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(function(*args, **options))
        except BaseException as error:
            future.set_exception(error)
        return future


def stop_at_file_calls(patch: pytest.MonkeyPatch, root: str, modules: Any) -> None:
    """Stop programs at each call for a file below `root`; nothing waits for the disk.

    Args:
        patch: The test's MonkeyPatch.
        root: Folder to watch.
        modules: Modules that call `open`.
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
