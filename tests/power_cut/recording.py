"""The calls of a program that changed files, and possible disks after a cut between them."""

import dataclasses
import functools
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

# Possible states of data that was not synced.
MODES = ("whole", "lost", "zeros", "cut")

Node = int
ROOT: Node = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """Atomic change of names: (folder, name, node that it now names, or None)."""

    changes: tuple[tuple[Node, str, Node | None], ...]

    @property
    def nodes(self) -> set[Node]:
        """Nodes to sync for durability: for a rename, the folder of the new name."""
        made = {folder for folder, _, node in self.changes if node is not None}
        return made or {folder for folder, _, _ in self.changes}


@dataclasses.dataclass(frozen=True, slots=True)
class Data:
    """Bytes written to a file, or its new size if there are none."""

    file: Node
    offset: int
    data: bytes | None

    @property
    def nodes(self) -> set[Node]:
        """Nodes to sync for durability."""
        return {self.file}


@dataclasses.dataclass(frozen=True, slots=True)
class Sync:
    """Makes changes before a call number durable in a file or folder (None: everywhere)."""

    node: Node | None
    before: int


@dataclasses.dataclass(frozen=True, slots=True)
class Disk:
    """Contents of the disk after a cut.

    Attributes:
        calls: Number of calls before the cut.
        is_last: Whether these are all calls: the program has ended.
        why: Description of what is lost.
        files: Bytes of the files, by path below the root.
        folders: The paths of all folders.
        links: Targets of symbolic links, by path.
    """

    calls: int
    is_last: bool
    why: str
    files: Mapping[str, bytes] = dataclasses.field(repr=False)
    folders: frozenset[str] = dataclasses.field(repr=False)
    links: Mapping[str, str] = dataclasses.field(repr=False)

    def below(self, folder: str) -> dict[str, bytes]:
        """Files below a folder, by path relative to it."""
        start = f"{folder}/"
        return {
            path.removeprefix(start): data
            for path, data in self.files.items()
            if path.startswith(start)
        }

    def lay_out(self, root: Path) -> None:
        """Writes the contents as real files."""
        for folder in sorted(self.folders):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for path, data in self.files.items():
            (root / path).write_bytes(data)
        for path, target in self.links.items():
            (root / path).symlink_to(target)


class _Tree:
    """Names and nodes: folders are dictionaries; a folder has one name."""

    def __init__(self) -> None:
        self.folders: dict[Node, dict[str, Node]] = {ROOT: {}}
        self._place: dict[Node, tuple[Node, str]] = {}

    def copy(self) -> "_Tree":
        made = _Tree()
        made.folders = {node: dict(names) for node, names in self.folders.items()}
        made._place = dict(self._place)
        return made

    def change(self, names: Names) -> None:
        """Applies a change; a folder loses its previous name."""
        for folder, name, node in names.changes:
            if node is None:
                self.folders[folder].pop(name, None)
        for folder, name, node in names.changes:
            if node is None:
                continue
            if node in self.folders:
                above, old = self._place.get(node, (ROOT, ""))
                if self.folders[above].get(old) == node:
                    del self.folders[above][old]
                self._place[node] = (folder, name)
            self.folders[folder][name] = node

    def find(self, path: str) -> Node | None:
        """The node at a path below the root."""
        node: Node | None = ROOT
        for name in (name for name in path.split("/") if name not in ("", ".")):
            node = self.folders.get(node, {}).get(name) if node is not None else None
        return node

    def walk(self, folder: Node = ROOT, above: str = "") -> Iterator[tuple[str, Node]]:
        """Yields (path, node) of everything that has a name."""
        for name, node in self.folders[folder].items():
            yield f"{above}{name}", node
            if node in self.folders:
                yield from self.walk(node, f"{above}{name}/")


class Recording:
    """The calls of a program that changed files below a folder.

    Args:
        root: The folder before the calls; all of it is on disk.
    """

    def __init__(self, root: Path):
        self.calls: list[Names | Data | Sync] = []
        self.lines: list[str] = []
        self._next = ROOT
        self._before: dict[Node, bytes] = {}
        self._links: dict[Node, str] = {}
        self._start = _Tree()
        self.tree = self._start
        for path in sorted(root.rglob("*")):
            if path.is_symlink():
                node = self.new_link(os.readlink(path))
            elif path.is_dir():
                node = self.new_folder()
            else:
                node = self.new_file()
                self._before[node] = path.read_bytes()
            above = self.tree.find(os.path.relpath(path.parent, root))
            assert above is not None
            self.tree.change(Names(((above, path.name, node),)))
        self.tree = self._start.copy()  # the state after the calls so far
        self._sizes = {node: len(data) for node, data in self._before.items()}

    def new_file(self) -> Node:
        """Creates the node of a new file."""
        self._next += 1
        return self._next

    def new_folder(self) -> Node:
        """Creates the node of a new folder."""
        node = self.new_file()
        self.tree.folders[node] = {}
        return node

    def new_link(self, target: str) -> Node:
        """Creates the node of a new symbolic link."""
        node = self.new_file()
        self._links[node] = target
        return node

    def add(self, call: Names | Data | Sync, line: str) -> None:
        """Adds the next call."""
        if isinstance(call, Names):
            self.tree.change(call)
        elif isinstance(call, Data):
            end = call.offset + len(call.data or b"")
            grown = end if call.data is None else max(end, self._sizes.get(call.file, 0))
            self._sizes[call.file] = grown
        self.calls.append(call)
        self.lines.append(line)

    def size(self, file: Node) -> int:
        """Current size of a file in bytes."""
        return self._sizes.get(file, 0)

    @functools.cached_property
    def _sure_after(self) -> list[int]:
        """For each call, the number of calls after which it is durable."""
        never = len(self.calls) + 1
        syncs = [(number, call) for number, call in enumerate(self.calls) if isinstance(call, Sync)]

        def sure_after(number: int, call: Names | Data) -> int:
            return max(
                next(
                    (at + 1 for at, s in syncs if s.node in (None, node) and number < s.before),
                    never,
                )
                for node in call.nodes
            )

        return [
            0 if isinstance(call, Sync) else sure_after(number, call)
            for number, call in enumerate(self.calls)
        ]

    @property
    def before(self) -> Disk:
        """The disk before the first call."""
        return self._disk(0, "nothing", set(), {})

    @property
    def after(self) -> Disk:
        """The disk after all calls, without a cut."""
        return self._disk(len(self.calls), "nothing", set(), {})

    def disks(self, seed: int | None = None, draws: int = 0) -> Iterator[Disk]:
        """Yields the distinct possible disks after a cut, at every call.

        Args:
            seed: Seed of the draws.
            draws: Number of extra states per call, with random losses of what is not durable.
        """
        seen = set()
        generator = random.Random(seed)
        for cut in range(len(self.calls) + 1):
            is_last = cut == len(self.calls)
            unsure = [number for number in range(cut) if self._sure_after[number] > cut]
            for why, lost, modes in self._losses(unsure, generator, draws):
                disk = self._disk(cut, why, lost, modes)
                key = (is_last, tuple(disk.files.items()), disk.folders, tuple(disk.links.items()))
                if key not in seen:
                    seen.add(key)
                    yield disk

    def _losses(
        self, unsure: Sequence[int], generator: random.Random, draws: int
    ) -> Iterator[tuple[str, set[int], dict[Node, str]]]:
        """Yields (why, lost changes of names, mode of unsynced data by file) per state."""
        names = [number for number in unsure if isinstance(self.calls[number], Names)]
        files = sorted(
            {call.file for call in map(self.calls.__getitem__, unsure) if isinstance(call, Data)}
        )
        for mode in MODES:
            modes = dict.fromkeys(files, mode)
            yield f"all data {mode}", set(), modes
            yield f"all data {mode}, no names", set(names), modes
        for number in names:
            yield f"lost: {self.lines[number]}", {number}, {}
            yield f"kept alone: {self.lines[number]}", {*names} - {number}, {}
        for file in files:
            for mode in MODES[1:]:
                yield f"data of file {file} {mode}", set(), {file: mode}
        for _ in range(draws if unsure else 0):
            lost = {number for number in names if generator.random() < 0.5}
            yield "drawn", lost, {file: generator.choice(MODES) for file in files}

    def _disk(self, cut: int, why: str, lost: set[int], modes: Mapping[Node, str]) -> Disk:
        tree = self._start.copy()
        tree.folders |= {node: {} for node in self.tree.folders if node not in tree.folders}
        for number in range(cut):
            call = self.calls[number]
            if isinstance(call, Names) and number not in lost:
                tree.change(call)
        files: dict[str, bytes] = {}
        folders, links = set(), {}
        for path, node in tree.walk():
            if node in tree.folders:
                folders.add(path)
            elif node in self._links:
                links[path] = self._links[node]
            else:
                files[path] = self._content(node, cut, modes.get(node, "whole"))
        return Disk(cut, cut == len(self.calls), why, files, frozenset(folders), links)

    @functools.cached_property
    def _data(self) -> dict[Node, list[int]]:
        """Numbers of the calls that change the content of each file."""
        numbers: dict[Node, list[int]] = {}
        for number, call in enumerate(self.calls):
            if isinstance(call, Data):
                numbers.setdefault(call.file, []).append(number)
        return numbers

    def _content(self, file: Node, cut: int, mode: str) -> bytes:
        numbers = [number for number in self._data.get(file, ()) if number < cut]
        num_sure = sum(self._sure_after[number] <= cut for number in numbers)
        return self._contents(file, tuple(numbers), num_sure, mode)

    @functools.cache  # noqa: B019 - as long as the test
    def _contents(self, file: Node, numbers: tuple[int, ...], num_sure: int, mode: str) -> bytes:
        """Content of a file whose first `num_sure` changes are durable."""
        content = bytearray(self._before.get(file, b""))
        for number in numbers[:num_sure] if mode == "lost" else numbers:
            call = self.calls[number]
            assert isinstance(call, Data)
            if call.data is None:
                del content[call.offset :]
                content.extend(bytes(call.offset - len(content)))
                continue
            data = call.data
            if number not in numbers[:num_sure]:
                data = {"zeros": bytes(len(data)), "cut": data[: len(data) // 2]}.get(mode, data)
            content.extend(bytes(max(0, call.offset - len(content))))
            content[call.offset : call.offset + len(data)] = data
        return bytes(content)
