"""Records the calls of a program with strace, which sees those of every library."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from power_cut.recording import Data, Names, Node, Recording, Sync

# strace truncates longer data; the comparison with the final files then fails.
_LONGEST_WRITE = 1 << 26
_LINE = re.compile(r"(\d+) +(.*)")
_UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (\d+)")
_ARGUMENT = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"'
    r"|(?P<fd>AT_FDCWD|\d+)<(?P<path>(?:[^>\\]|\\.)*)>"
    r"|(?P<word>[A-Z_|]+|-?\d+)"
)
_Arguments = Sequence[re.Match[str]]


def record(command: Sequence[object], root: Path, **environment: str) -> Recording:
    """Runs a program, which must exit with 0, and records its calls.

    Args:
        command: The program and its arguments; it runs in "/", so that paths are absolute.
        root: The folder to record.
        environment: Variables in addition to those of this process.

    Raises:
        FileNotFoundError: strace is not installed; `apt-get install strace`.
        AssertionError: The program failed, or the recording differs from its files.
    """
    root = root.resolve()
    recording = Recording(root)
    parser = _Parser(recording, str(root))
    log = root.parent / f"{root.name}.strace"
    tracer = ["strace", "-f", "-y", "-s", _LONGEST_WRITE, "-o", log]
    done = subprocess.run(
        [*map(str, [*tracer, "-e", f"trace={','.join(parser.calls)}", *command])],
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    parser.parse(log.read_text(errors="surrogateescape"))
    log.unlink()
    left = {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    different = recording.after.files.items() ^ left.items()
    assert not different, f"calls are missing that changed {sorted(path for path, _ in different)}"
    return recording


class _Parser:
    """Parses lines of strace into calls.

    Attributes:
        calls: Names of the system calls to trace.
    """

    def __init__(self, recording: Recording, root: str):
        self._recording = recording
        self._root = root
        # Positions of open files, by node and number; duplicated descriptors share one list.
        self._positions: dict[tuple[Node, str], list[int]] = {}
        self._appending: set[tuple[Node, str]] = set()
        self.calls: dict[str, Callable[[_Arguments], None]] = {
            **dict.fromkeys(("open", "openat", "creat"), self._open),
            **dict.fromkeys(("dup", "dup2", "dup3"), self._duplicate),
            "lseek": self._seek,
            **dict.fromkeys(("write", "writev"), self._write),
            "pwrite64": self._write_at,
            "sendfile": self._send,
            **dict.fromkeys(("truncate", "ftruncate"), self._truncate),
            **dict.fromkeys(("fsync", "fdatasync"), self._sync),
            **dict.fromkeys(("sync", "syncfs"), self._sync_all),
            **dict.fromkeys(("rename", "renameat", "renameat2"), self._rename),
            **dict.fromkeys(("link", "linkat"), self._link),
            **dict.fromkeys(("symlink", "symlinkat"), self._symlink),
            **dict.fromkeys(("mkdir", "mkdirat"), self._mkdir),
            **dict.fromkeys(("unlink", "unlinkat", "rmdir"), self._remove),
            **dict.fromkeys(
                ("chdir", "fchdir", "fallocate", "copy_file_range", "pwritev", "openat2"), _refuse
            ),
        }

    def parse(self, text: str) -> None:
        """Adds all calls in a log that changed anything below the root."""
        begun: dict[str, tuple[str, int]] = {}
        for process, line in _LINE.findall(text):
            before = len(self._recording.calls)
            if line.endswith(_UNFINISHED):
                begun[process] = line.removesuffix(_UNFINISHED), before
                continue
            if resumed := _RESUMED.match(line):
                start, before = begun.pop(process)
                line = start + line[resumed.end() :]
            call = _CALL.match(line)
            if call and (self._root in line or call[1] == "sync"):
                self._line, self._before, self._result = line[:200], before, int(call[3])
                self.calls[call[1]](list(_ARGUMENT.finditer(call[2])))
        assert not any(self._root in line for line, _ in begun.values()), begun

    def _add(self, call: Names | Data | Sync) -> None:
        self._recording.add(call, self._line)

    # Nodes and paths in arguments.

    def _node(self, path: str) -> Node | None:
        """The node at an absolute path; None if missing or not below the root."""
        path = os.path.normpath(path)
        if f"{path}/".startswith(f"{self._root}/"):
            return self._recording.tree.find(path[len(self._root) :])
        return None

    def _file(self, argument: re.Match[str]) -> Node | None:
        return self._node(_text(argument["path"] or argument["text"]))

    def _paths(self, arguments: _Arguments) -> list[tuple[Node, str, Node | None]]:
        """(folder, name, node or None) of each path below the root."""
        found, above = [], ""
        for argument in arguments:
            if argument["fd"]:
                above = _text(argument["path"])
            elif argument["text"] is not None:
                path = os.path.join(above, _text(argument["text"]))
                folder = self._node(os.path.dirname(path))
                if folder is not None:
                    found.append((folder, os.path.basename(path), self._node(path)))
        return found

    # Open files.

    def _open(self, arguments: _Arguments) -> None:
        flags = "|".join(argument["word"] for argument in arguments if argument["word"])
        for folder, name, node in self._paths(arguments):
            if node is None:
                node = self._recording.new_file()
                self._add(Names(((folder, name, node),)))
            elif "O_TRUNC" in flags and self._recording.size(node):
                self._add(Data(node, 0, None))
            key = (node, str(self._result))
            self._positions[key] = [0]
            (self._appending.add if "O_APPEND" in flags else self._appending.discard)(key)

    def _duplicate(self, arguments: _Arguments) -> None:
        if (file := self._file(arguments[0])) is not None:
            old, new = (file, arguments[0]["fd"]), (file, str(self._result))
            if old in self._positions:
                self._positions[new] = self._positions[old]
                (self._appending.add if old in self._appending else self._appending.discard)(new)

    def _seek(self, arguments: _Arguments) -> None:
        file = self._file(arguments[0])
        if file is not None and (position := self._positions.get((file, arguments[0]["fd"]))):
            position[0] = self._result

    def _write(self, arguments: _Arguments) -> None:
        data = b"".join(
            _bytes(argument["text"]) for argument in arguments if argument["text"] is not None
        )
        self._append(arguments[0], data[: self._result])

    def _append(self, target: re.Match[str], data: bytes) -> None:
        """Adds data at the position of an open file, or at its end."""
        if (file := self._file(target)) is not None:
            key = (file, target["fd"])
            position = self._positions[key]
            if key in self._appending:
                position[0] = self._recording.size(file)
            self._add(Data(file, position[0], data))
            position[0] += len(data)

    def _write_at(self, arguments: _Arguments) -> None:
        if (file := self._file(arguments[0])) is not None:
            data = _bytes(arguments[1]["text"])[: self._result]
            self._add(Data(file, int(arguments[-1]["word"]), data))

    def _send(self, arguments: _Arguments) -> None:
        target, source, offset = arguments[:3]
        start = int(offset["word"])
        with open(_text(source["path"]), "rb") as file:
            self._append(target, file.read()[start : start + self._result])

    def _truncate(self, arguments: _Arguments) -> None:
        if (file := self._file(arguments[0])) is not None:
            self._add(Data(file, int(arguments[1]["word"]), None))

    def _sync(self, arguments: _Arguments) -> None:
        if (node := self._file(arguments[0])) is not None:
            self._add(Sync(node, self._before))

    def _sync_all(self, _: _Arguments) -> None:
        self._add(Sync(None, self._before))

    # Names.

    def _rename(self, arguments: _Arguments) -> None:
        (folder, old, node), (target, new, there) = self._paths(arguments)
        exchange = any(argument["word"] == "RENAME_EXCHANGE" for argument in arguments)
        if node != there:  # otherwise a no-op
            self._add(Names(((folder, old, there if exchange else None), (target, new, node))))

    def _link(self, arguments: _Arguments) -> None:
        (_, _, node), (folder, new, _) = self._paths(arguments)
        self._add(Names(((folder, new, node),)))

    def _symlink(self, arguments: _Arguments) -> None:
        [(folder, new, _)] = self._paths(arguments[1:])
        link = self._recording.new_link(_text(arguments[0]["text"]))
        self._add(Names(((folder, new, link),)))

    def _mkdir(self, arguments: _Arguments) -> None:
        [(folder, new, _)] = self._paths(arguments)
        self._add(Names(((folder, new, self._recording.new_folder()),)))

    def _remove(self, arguments: _Arguments) -> None:
        [(folder, old, _)] = self._paths(arguments)
        self._add(Names(((folder, old, None),)))


def _refuse(arguments: _Arguments) -> None:
    raise NotImplementedError(
        f"a call that is not simulated: {[argument[0] for argument in arguments]}"
    )


def _bytes(text: str) -> bytes:
    """Decodes a string as printed by strace."""
    return os.fsencode(text).decode("unicode_escape").encode("latin-1")


def _text(text: str) -> str:
    return os.fsdecode(_bytes(text))
