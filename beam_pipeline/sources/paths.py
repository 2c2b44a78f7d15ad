"""Names of files and folders in any layout."""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.files.compressed import suffix_of
from beam_pipeline.records import Rejected, composed

# A suffix states the intended kind of a file; Inspect checks its content.
IMAGE_SUFFIXES = frozenset(
    {"jpg", "jpeg", "jpe", "jfif", "png", "bmp", "dib", "gif", "webp", "tif", "tiff"}
    | {"ppm", "pgm", "pbm", "pnm", "jp2", "avif", "heic", "heif"}
)
# Some of these formats are refused by name when they are opened.
AUDIO_SUFFIXES = frozenset(
    {"wav", "wave", "flac", "ogg", "oga", "opus"}
    | {"mp3", "m4a", "aac", "aif", "aiff", "aifc", "wma", "au", "caf", "amr", "sph", "w64"}
)
ARRAY_SUFFIXES = frozenset({"npy", "npz"})
_KIND_OF_SUFFIX = (
    dict.fromkeys(IMAGE_SUFFIXES, "image")
    | dict.fromkeys(AUDIO_SUFFIXES, "audio")
    | dict.fromkeys(ARRAY_SUFFIXES, "array")
)

# Hundreds of paths per element, since a shuffle costs per element (docs/design.md).
PATHS_PER_BATCH = 256

_SUBMISSION = re.compile("submi(t|ssion)", re.IGNORECASE)

_T = TypeVar("_T")


def suffix(path: str) -> str:
    """Return the file's suffix without its dot, in lower case, or ""."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def uncompressed(path: str) -> str:
    """Remove the suffix of the compression from a file's name."""
    ending = suffix_of(path)
    return path.removesuffix(f".{ending}") if ending else path


def stem(path: str) -> str:
    """Return the file's name without folders and suffix."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def is_submission(path: str) -> bool:
    """Whether a table has the name of a submission to a competition, which holds no data."""
    return _SUBMISSION.search(path.rpartition("/")[2]) is not None


def folder(path: str) -> str:
    """Return the folder of `path`, or "" at the top."""
    return path.rpartition("/")[0]


def parents(path: str) -> Iterator[str]:
    """Yield the folders above `path`, from its own up to "", the top."""
    while path:
        path = folder(path)
        yield path


def joined(relative: str, name: str) -> str:
    """Join `name` to the folder `relative`, which may be "", the top."""
    return f"{relative}/{name}" if relative else name


def split_at(path: str, name: str) -> tuple[str, str] | None:
    """Return the folders before and after the last one called `name`, in any case, or None.

    No folder matches the name "".
    """
    if not name or name not in path.lower():  # most paths; halves the time of a listing
        return None
    parts = folder(path).split("/")
    for at in reversed(range(len(parts))):
        if parts[at].lower() == name:
            return "/".join(parts[:at]), "/".join(parts[at + 1 :])
    return None


def shared_name(path: str) -> str:
    """Return the common name of an image and its annotation, without folders and suffix."""
    return composed(stem(path))


def place_of(path: str, home: str = "") -> str:
    """Return a file's folder without `home`, in lower case, joined to its name without suffix."""
    around = split_at(path, home)
    parts = "/".join(filter(None, around)) if around else folder(path)
    return f"{parts.lower()}/{shared_name(path)}"


def has_image_suffix(path: str) -> bool:
    """Whether the file has the suffix of an image."""
    return path.rpartition(".")[2].lower() in IMAGE_SUFFIXES


def media_kind(path: str) -> str:
    """Kind of a file by its suffix: "image", "audio", "array" or ""."""
    name, _, ending = path.rpartition(".")
    return _KIND_OF_SUFFIX.get(ending.lower(), "") if name else ""


def kind_of_all(names: Iterable[str]) -> str:
    """Return the common kind of all files, or ""."""
    kinds = set(map(media_kind, names))
    return kinds.pop() if len(kinds) == 1 else ""


def below(root: str, relative: str) -> str:
    """Return the path of `relative`, which has forward slashes, below `root`."""
    return f"{root.rstrip('/')}/{relative}"


def left_out(source: str, reason: str, detail: str) -> Rejected:
    """Make a reject, not bad, for a file that is not data or is in the wrong place."""
    return Rejected(source=source, reason=reason, detail=detail, bad=False)


def input_folder(root: str) -> str:
    """Return the absolute path of an input folder; raise ConfigError if there is none."""
    path = storage.absolute(root)
    if not storage.is_directory(path):
        raise ConfigError(f"the input {root!r} is not a folder (looked at {path}); give one")
    return path.rstrip("/") or "/"


def in_batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    """Divide `items` into lists, one per element of a collection."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, PATHS_PER_BATCH)):
        yield batch
