"""Files of an input: its upper levels, listed on demand, and those that a layout reads."""

import contextlib
import dataclasses
import fnmatch
import functools
import glob
import itertools
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.json_items import JsonSign
from beam_pipeline.sources.paths import (
    below,
    folder,
    joined,
    locate,
    media_kind,
    name_of,
    parent,
    parents,
    stem,
    suffix,
)
from tfrecord_dataset.format.split_names import splits_of_files
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.urls import unsigned


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """Patterns of files and folders to leave out, with `*`, `?` and `[…]`.

    A pattern without "/" matches names of files and folders ("*_mask.png", "masks"), one with "/"
    consecutive names ("train/masks"), at any depth; one that starts with "/" only from the input
    on ("/masks"). A folder is left out with its content.

    Attributes:
        patterns: The user's patterns.
        base: The folder below the input that checked paths are relative to; "" is the input.
    """

    patterns: tuple[str, ...] = ()
    base: str = ""

    @classmethod
    def of(cls, config: BuildConfig, path: str) -> "Ignored":
        """Return a build's patterns for its input or a folder inside it."""
        top, here = (unsigned(each).rstrip("/") for each in (config.input, path))
        is_below = here.startswith(f"{top}/")
        return cls(tuple(config.ignore), here[len(top) + 1 :] if is_below else "")

    def inside(self, folder: str) -> "Ignored":
        """Return the same patterns for paths relative to a folder."""
        return Ignored(self.patterns, joined(self.base, folder)) if folder else self

    def __call__(self, relative: str) -> bool:
        """Whether a path is left out."""
        return any(_fits(joined(self.base, relative), pattern) for pattern in self.patterns)

    def only(self, relative: str) -> str:
        """Return the pattern of one path, and of none with its name in another folder."""
        return f"/{glob.escape(joined(self.base, relative))}"

    def kept(self, folder: str, names: Sequence[str]) -> Sequence[str]:
        """Return the names in a folder that are not left out."""
        if not self.patterns:
            return names
        return [name for name in names if not self(joined(folder, name))]


NOTHING = Ignored()


def _fits(path: str, pattern: str) -> bool:
    names, wanted = path.split("/"), pattern.strip("/").split("/")
    starts = range(len(names) - len(wanted) + 1)[: 1 if pattern.startswith("/") else None]
    return any(all(map(fnmatch.fnmatchcase, names[start:], wanted)) for start in starts)


# Enough to detect a layout, without listing each of a thousand class folders.
_MAX_DEPTH = 5
_MOST_DEPTH = 40  # links may form a circle
_MAX_FOLDERS_PER_LEVEL = 40
_LOOKED_AT_FIRST = frozenset(
    {"annotations", "imagesets", "main", "jpegimages", "images", "masks", "labels"}
    | {"train", "val", "test"}
)
_HEAD_BYTES = 4096
# Files of a folder whose first bytes are searched.
_HEADS_LOOKED_AT = 5
# Names kept per folder and suffix, so that a table is found among a million images.
_MAX_NAMES_PER_SUFFIX = 512
_MAX_SUFFIXES = 512
_REMOTE_CALLS = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """Sorted names of a folder's entries without hidden ones.

    Attributes:
        folders: All folders.
        files: A few hundred files per suffix.
        is_whole: Whether `files` holds all files.
    """

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_whole: bool = True

    def __str__(self) -> str:
        at_least = "" if self.is_whole else "at least "
        return f"{shown(self.folders, 'folder')} and {at_least}{shown(self.files, 'file')}"


class _Sample:
    """Sample of a few hundred names by a hash of the name without its suffix.

    It does not depend on the order of the listing, and keeps an image with its label file.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.every = 1

    def add(self, name: str) -> None:
        if self._is_kept(name):
            self.names.append(name)
        while len(self.names) > _MAX_NAMES_PER_SUFFIX:
            self.every *= 2
            self.names = list(filter(self._is_kept, self.names))

    def _is_kept(self, name: str) -> bool:
        if self.every == 1:
            return True
        return not zlib.crc32(stem(name).encode(errors="surrogatepass")) % self.every


def look_into(path: str, ignored: Ignored = NOTHING) -> Listing:
    """List a folder in one pass; an empty listing if the folder is missing."""
    folders: set[str] = set()
    samples: dict[str, _Sample] = {}
    is_whole = True
    for name, is_folder in storage.scan_folder(path):
        if not name:
            is_whole = False
        elif ignored(name):
            continue
        elif is_folder:
            folders.add(name)
        else:
            suffix = name.rpartition(".")[2]
            if suffix not in samples and len(samples) >= _MAX_SUFFIXES:
                suffix = ""
            samples.setdefault(suffix, _Sample()).add(name)
    return Listing(
        folders=tuple(sorted(folders)),
        files=tuple(sorted({name for sample in samples.values() for name in sample.names})),
        is_whole=is_whole and all(sample.every == 1 for sample in samples.values()),
    )


class Tree:
    """The files below a folder, a single file, or the files that match a pattern.

    Each folder is listed once, on first use.

    Attributes:
        input: The folder, file or pattern of files, an absolute path or URL.
        root: The folder that relative paths start from.
        is_folder: Whether the input is a folder.
        is_inner: Whether this is the only folder of another tree.
        ignored: Files and folders to leave out.
    """

    def __init__(self, root: str, ignored: Ignored = NOTHING, *, is_inner: bool = False) -> None:
        self.input = root
        self.root = root
        self.ignored = ignored
        self.is_inner = is_inner
        self.is_folder = True
        self._listings: dict[str, Listing] = {}
        self._paths: Mapping[str, str] = {}
        self._heads: dict[str, bytes] = {}

    @classmethod
    def of(cls, path: str, ignored: Ignored = NOTHING) -> "Tree":
        """Make the tree of a folder, a file or a pattern of files."""
        if storage.is_directory(path):
            return cls(path, ignored)
        root, paths = matched_files(path)
        tree = cls(root, ignored)
        tree.input, tree.is_folder = path, False
        tree._paths = {name: found for name, found in paths.items() if not ignored(name)}
        tree._listings = _listings(tree._paths)
        return tree

    @property
    def is_file(self) -> bool:
        """Whether the input is a single file."""
        return [*self._paths.values()] == [self.input]

    @property
    def only_folder(self) -> str:
        """The only folder of the tree if there are no media files next to it, else ""."""
        listing = self.look()
        is_alone = len(listing.folders) == 1 and not any(map(media_kind, listing.files))
        return listing.folders[0] if is_alone else ""

    def inside(self, name: str) -> "Tree":
        """Return the tree below the only folder of this one."""
        return Tree(self.path(name), self.ignored.inside(name), is_inner=True)

    def path(self, relative: str) -> str:
        """Return the absolute path of a relative one."""
        if not relative:
            return self.input
        return self._paths.get(relative) or below(self.root, relative)

    def look(self, relative: str = "") -> Listing:
        """List a folder; an empty listing if it is missing."""
        if relative not in self._listings:
            self._look_at([relative])
        return self._listings[relative]

    def _look_at(self, relatives: Iterable[str]) -> None:
        new = [relative for relative in relatives if relative not in self._listings]
        if not self.is_folder:
            self._listings |= dict.fromkeys(new, Listing())
        elif storage.is_remote(self.root):  # in parallel, since each answer takes a while
            listings = run_in_threads(self._look_into, new, _REMOTE_CALLS)
            self._listings |= zip(new, listings, strict=True)
        else:
            self._listings |= {relative: self._look_into(relative) for relative in new}

    def _look_into(self, relative: str) -> Listing:
        return look_into(self.path(relative), self.ignored.inside(relative))

    @functools.cached_property
    def walked(self) -> Mapping[str, Listing]:
        """Listings of the root and of the first few folders of each level below it.

        If the first levels have no file, those below them follow.
        """
        listings: dict[str, Listing] = {}
        level = [""]
        for depth in range(_MOST_DEPTH):
            if not level or (depth > _MAX_DEPTH and any(each.files for each in listings.values())):
                break
            self._look_at(level)
            listings |= {home: self.look(home) for home in level}
            below_level = (joined(home, name) for home in level for name in listings[home].folders)
            level = _first([*below_level])
        return listings

    def first_folders(self) -> list[str]:
        """Return the `walked` folders of the first level."""
        return _first(self.look().folders)

    @functools.cached_property
    def has_all_folders(self) -> bool:
        """Whether all folders of this tree are `walked`."""
        return all(
            joined(place, name) in self.walked
            for place, listing in self.walked.items()
            for name in listing.folders
        )

    @property
    def is_known(self) -> bool:
        """Whether all folders and files of this tree are listed."""
        return self.has_all_folders and all(each.is_whole for each in self.walked.values())

    @property
    def at_least(self) -> str:
        """Prefix of a number of files: "at least " unless all files are listed."""
        return "" if self.is_known else "at least "

    @functools.cached_property
    def _files(self) -> Sequence[str]:
        return [
            joined(place, name) for place, listing in self.walked.items() for name in listing.files
        ]

    def names(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the `walked` folders with the names of their `files`."""
        return ((place, listing.files) for place, listing in self.walked.items())

    def files(self) -> Sequence[str]:
        """Return the relative paths of a few hundred files per suffix in each `walked` folder."""
        return self._files

    @functools.cached_property
    def _kinds(self) -> Mapping[str, str]:
        return {path: media_kind(path) for path in self._files}

    def files_of(self, *kinds: str) -> Sequence[str]:
        """Filter `files` by kinds: "image", "audio", "array", or "" for others."""
        return [path for path, kind in self._kinds.items() if kind in kinds]

    @functools.cached_property
    def _by_suffix(self) -> Mapping[str, Sequence[str]]:
        by_suffix: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self._files):
            by_suffix[suffix(path)].append(path)
        return by_suffix

    def files_with(self, suffix: str) -> Sequence[str]:
        """Filter `files` by suffix in lower case, such as "txt" or "gt.txt"; sorted."""
        inner, _, last = suffix.rpartition(".")
        paths = self._by_suffix.get(last, ())
        return [path for path in paths if path.lower().endswith(f".{suffix}")] if inner else paths

    def counted(
        self, paths: Iterable[str], begins: re.Pattern[bytes] | JsonSign | None = None
    ) -> dict[str, int]:
        """Count files by folder, if one of the folder's first files matches `begins`."""
        by_folder: defaultdict[str, list[str]] = defaultdict(list)
        for path in paths:
            by_folder[folder(path)].append(path)
        return {
            home: len(found)
            for home, found in by_folder.items()
            if begins is None or any(map(begins.search, map(self.head, found[:_HEADS_LOOKED_AT])))
        }

    def describe_counts(self, counts: Mapping[str, int], noun: str) -> str:
        """Describe counts of files by folder: "at least 12 label files in train/, val/"."""
        return f"{self.at_least}{counted(sum(counts.values()), noun)} in {places(counts)}"

    def head(self, relative: str) -> bytes:
        """Return the first bytes of a file, read once."""
        if relative not in self._heads:
            self._heads[relative] = head(self.path(relative))
        return self._heads[relative]


def matched_files(path: str) -> tuple[str, dict[str, str]]:
    """Return the folder of a file or pattern, and the matching files by relative path."""
    if storage.exists(path):
        return parent(path), {name_of(path): path}
    root = parent(re.split(r"[*?[]", path, maxsplit=1)[0] + "x").rstrip("/")
    return root, {file[len(root) + 1 :]: file for file in storage.match_files(path)}


def _listings(paths: Iterable[str]) -> dict[str, Listing]:
    files: defaultdict[str, list[str]] = defaultdict(list)
    folders: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(paths):
        files[folder(path)].append(path.rpartition("/")[2])
        for inner, outer in itertools.pairwise(parents(path)):
            folders[outer].add(inner.rpartition("/")[2])
    return {
        home: Listing(folders=tuple(sorted(folders[home])), files=tuple(files[home]))
        for home in {"", *files, *folders}
    }


def _first(folders: Sequence[str]) -> list[str]:
    """Return the folders of a level to list, likely ones first."""
    likely = sorted(
        folders, key=lambda path: path.rpartition("/")[2].lower() not in _LOOKED_AT_FIRST
    )
    return likely[:_MAX_FOLDERS_PER_LEVEL]


def head(path: str) -> bytes:
    """Return the first bytes of a file, without decompression; empty if it cannot be read."""
    with contextlib.suppress(RecordError):
        return storage.read_start(path, _HEAD_BYTES)
    return b""


def shown(names: Sequence[str], noun: str) -> str:
    """Count names and show the first few: "6 files (a, b, c, d, …)"."""
    few = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    return counted(len(names), noun) + (f" ({few})" if few else "")


def places(folders: Iterable[str]) -> str:
    """Show the first few folders: "train/, the top folder, …"."""
    paths = [f"{path}/" if path else "the top folder" for path in folders]
    return ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file of many records.

    Attributes:
        path: Absolute path or URL.
        relative: Path below the input, for keys and messages.
        split: Split in the name of the folder or file.
    """

    path: str
    relative: str
    split: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamingFile(InputFile):
    """A file whose records name other files.

    Attributes:
        root: The folder that keys are relative to.
        allowed: Further folders whose files may be named.
    """

    root: str
    allowed: tuple[str, ...] = ()

    def locate(self, name: str, folder: str) -> tuple[str, str]:
        """Return the key and the path of a file called `name` in `folder`, as `locate` does."""
        return locate(name, folder=folder, root=self.root, allowed=self.allowed)


def find_files(
    path: str, is_meant: Callable[[str], bool], ignored: Ignored = NOTHING
) -> list[InputFile]:
    """Find the files of an input, sorted.

    Args:
        path: A file, a folder with all files below it, or a pattern (`storage.match_files`).
        is_meant: Whether the layout reads a file of this name; not used for a single file.
        ignored: Files to leave out of a folder or a pattern.

    Raises:
        ConfigError: No file was found.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    if storage.is_directory(path):
        files = {file.relative: file.path for file in storage.list_files(path)}
    else:
        _, files = matched_files(path)
    is_one = [*files.values()] == [path]
    names = sorted(name for name in files if is_one or (is_meant(name) and not ignored(name)))
    if not names:
        listed = ", ".join(sorted(files)[:5]) or "nothing"
        raise ConfigError(f"the input {path} has no such file (found {listed}); give another")
    return [
        InputFile(path=files[name], relative=name, split=split)
        for name, split in zip(names, splits_of_files(names), strict=True)
    ]
