"""The top of a tree of files, looked at only as far as somebody asks."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.paths import below

# Enough to tell a layout; a thousand class folders need not all be opened for it.
_MAX_DEPTH = 4
_MAX_FOLDERS_PER_LEVEL = 40
_LOOKED_AT_FIRST = frozenset(
    {"annotations", "imagesets", "main", "jpegimages", "images", "labels", "train", "val", "test"}
)
_HEAD_BYTES = 4096


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The names of what one folder holds, hidden ones excepted, sorted."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{shown(self.folders, 'folder')} and {shown(self.files, 'file')}"


class Tree:
    """The folders below a folder; each is listed once, when it is looked at first.

    Attributes:
        root: The folder, an absolute path or URL.
        is_inner: Whether it was reached through the only folder of another.
    """

    def __init__(self, root: str, *, is_inner: bool = False):
        self.root = root
        self.is_inner = is_inner
        self._listings: dict[str, Listing] = {}

    def inside(self, name: str) -> "Tree":
        """The tree below the only folder of this one."""
        return Tree(self.path(name), is_inner=True)

    def path(self, relative: str) -> str:
        """The absolute path of what is at `relative`."""
        return below(self.root, relative) if relative else self.root

    def look(self, relative: str = "") -> Listing:
        """What the folder at `relative` holds; nothing, if there is none."""
        if relative not in self._listings:
            self._look_at([relative])
        return self._listings[relative]

    def _look_at(self, relatives: Iterable[str]) -> None:
        new = [relative for relative in relatives if relative not in self._listings]
        for relative, names in zip(new, storage.list_folders(map(self.path, new)), strict=True):
            self._listings[relative] = Listing(*names)

    def walk(self, top: str = "") -> Iterator[tuple[str, Listing]]:
        """The folder `top` and those below it, level by level: the first few of each level."""
        level = [top]
        for _ in range(_MAX_DEPTH + 1):
            below_level = []
            if storage.is_remote(self.root):
                self._look_at(level)  # at once: each answer takes a while
            for relative in level:
                listing = self.look(relative)
                yield relative, listing
                below_level += [joined(relative, name) for name in listing.folders]
            below_level.sort(key=lambda path: _name(path).lower() not in _LOOKED_AT_FIRST)
            level = below_level[:_MAX_FOLDERS_PER_LEVEL]

    def files(self) -> list[str]:
        """The files of the folders that `walk` goes through, by their relative paths."""
        return [joined(place, name) for place, listing in self.walk() for name in listing.files]

    def head(self, relative: str) -> bytes:
        """The first bytes of a file."""
        return head(self.path(relative))


def head(path: str) -> bytes:
    """The first bytes of a file, as it is; none, if it cannot be read."""
    with contextlib.suppress(RecordError):
        return storage.read_start(path, _HEAD_BYTES)
    return b""


def joined(relative: str, name: str) -> str:
    """`name` in the folder `relative`, which may be "", the top."""
    return f"{relative}/{name}" if relative else name


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def shown(names: Sequence[str], noun: str) -> str:
    """The first few of the names: "6 files (a, b, c, d, …)"."""
    few = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    return f"{len(names):,} {noun}{'s' if len(names) != 1 else ''}" + (f" ({few})" if few else "")


def counted(number: int, noun: str) -> str:
    """A number of things: "2 classes"."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def places(folders: Iterable[str]) -> str:
    """The first few folders of a tree: "train/, the top folder, …"."""
    paths = [f"{path}/" if path else "the top folder" for path in folders]
    return ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
