"""Names and paths of files: their parts, and those that annotations name.

Paths outside the input are refused: annotations from a stranger could otherwise read any file of
this machine into a dataset, or request any address.
"""

import functools
import hashlib
import itertools
import posixpath
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.compressed import suffix_of
from beam_pipeline.records import composed
from tfrecord_dataset.store.urls import unsigned

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

# "fb7ad4ef-photo.jpg" is the upload of photo.jpg.
_UPLOAD = re.compile("[0-9a-f]{8}-(?=.)")
# A note to count.
OF_UPLOAD = "image found without the prefix of its upload"

_SUBMISSION = re.compile("submi(t|ssion)", re.IGNORECASE)


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


def parallel_folders(path: str, home: str, others: Sequence[str]) -> Iterator[str]:
    """Yield a file's folder with each of `others` in place of `home`, first where `home` is.

    Yields the folder itself if it has no such part.
    """
    around = split_at(path, home)
    if around is None:
        yield folder(path)
        return
    for other in others:
        yield "/".join(filter(None, (around[0], other, around[1])))
    names = [*filter(None, "/".join(around).split("/"))]
    for at, other in itertools.product(range(len(names) + 1), others):
        yield "/".join(filter(None, (*names[:at], other, *names[at:])))


def is_in(path: str, home: str) -> bool:
    """Whether one of the file's folders is called `home`, in any case."""
    return split_at(path, home) is not None


def place_of(path: str) -> str:
    """Return a file's folder in lower case, joined to its name without suffix."""
    return f"{folder(path).lower()}/{shared_name(path)}"


def without_upload_prefix(path: str) -> str:
    """Remove the prefix of an upload to Label Studio from a file's name; "" if there is none."""
    home, _, name = path.rpartition("/")
    return joined(home, name[len(match[0]) :]) if (match := _UPLOAD.match(name)) else ""


def upload_notes(name: str, path: str) -> Counter[str]:
    """Count a file that was found by its stated name without the prefix of an upload."""
    bare = without_upload_prefix(name.replace("\\", "/"))
    return Counter([OF_UPLOAD] * (bare != "" and shared_name(path) == shared_name(bare)))


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


def input_folder(root: str) -> str:
    """Return the absolute path of an input folder; raise ConfigError if there is none."""
    path = storage.absolute(root)
    if not storage.is_directory(path):
        raise ConfigError(f"the input {root!r} is not a folder (looked at {path}); give one")
    return path.rstrip("/") or "/"


def hash_of(path: str) -> int:
    """Return a 64-bit hash of a path."""
    data = path.encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def locate(name: str, *, folder: str, root: str, allowed: Iterable[str] = ()) -> tuple[str, str]:
    """Return the key and the path of the image that an annotation file names.

    Args:
        name: Relative to `folder`, or absolute, or remote; with slashes or backslashes, in any
            Unicode form.
        folder: Absolute path or URL.
        root: Absolute path or URL of the input; the key is the path below it. An image outside the
            input has `name` as its key. Keys contain no passwords and no signatures.
        allowed: Further folders that may contain the image.

    Raises:
        RecordError: "file outside the input": it is in none of these folders.
    """
    name = name.strip().replace("\\", "/")
    if name[:1] in "./" or "//" in name or "/." in name:
        path = storage.join(folder, name)
        if storage.is_remote(path):
            scheme, _, rest = path.partition("://")
            path = f"{scheme}://{posixpath.normpath(rest)}"
        if not is_inside(path, (folder, root, *allowed)):
            raise RecordError(
                "file outside the input", f"{name!r} {outside(path, root, parent(path))}"
            )
    else:  # nearly always; a tenth of the time
        path = f"{folder.rstrip('/')}/{name}"
    if not name.isascii():
        path = _in_form_on_disk(path)
    prefix = _prefix(root)
    if (whole := unsigned(path)).startswith(prefix):
        return whole[len(prefix) :], path
    return (unsigned(name) if storage.is_remote(name) else posixpath.normpath(name)), path


@functools.lru_cache(maxsize=16)
def _prefix(root: str) -> str:
    return unsigned(root).rstrip("/") + "/"


def last_parts(path: str) -> Iterator[str]:
    """Yield the tails of a path from another machine, longest first."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return ("/".join(parts[start:]) for start in range(len(parts)))


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether `path` is one of `folders` or inside one; all are absolute and normalized."""
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def outside(path: str, root: str, folder: str) -> str:
    """Return the error text for a path outside `root`; the remedy is to allow `folder`."""
    return (
        f"leads to {path}, outside of {root}; put the file below that, or, if this machine has the "
        f"folder, pass --allow-outside {shlex.quote(folder)}"
    )


def _in_form_on_disk(path: str) -> str:
    """Return `path` in the Unicode form of the existing file; macOS writes "é" differently."""
    forms = [path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD"))]
    if len(set(forms)) == 1:  # in most scripts
        return path
    return next(filter(storage.exists, forms), path)


def parent(path: str) -> str:
    """Return a local or remote path's parent folder; "/" and a bucket are their own parents."""
    head = path.rstrip("/").rpartition("/")[0]
    if head.endswith(":/"):
        return path  # gs://bucket
    return head or "/"


def name_of(path: str) -> str:
    """Return the last part of a local or remote path, without a signature."""
    return unsigned(path).rstrip("/").rpartition("/")[2]
