"""From the name of an image in an annotation file to the image, which must be one that is meant.

Whoever wrote the annotations could else have any file of this machine read into a dataset, or any
address asked.
"""

import functools
import posixpath
import shlex
import unicodedata
from collections.abc import Iterable, Iterator

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from tfrecord_dataset.store.urls import unsigned


def locate(name: str, *, folder: str, root: str, allowed: Iterable[str] = ()) -> tuple[str, str]:
    """The key and the path of the image that an annotation file calls `name`.

    Args:
        name: Relative to `folder`, or absolute, or remote. Backslashes are Windows's slashes.
            Unicode's forms of it are one.
        folder: Absolute path or URL.
        root: Absolute path or URL of the input; the key is the path below it. An image
            outside of it keeps the stated name as its key. No key has a password or a signature.
        allowed: Further folders whose files may be named.

    Raises:
        RecordError: "file outside the input": it is in none of these folders.
    """
    name = name.strip().replace("\\", "/")
    if name[:1] in "./" or "//" in name or "/." in name:
        path = _joined(folder, name)
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
    """A path without its first folders, which another machine may have: the longest first."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return ("/".join(parts[start:]) for start in range(len(parts)))


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether `path` is one of `folders`, or lies in one; all are absolute and normal."""
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def outside(path: str, root: str, folder: str) -> str:
    """What an error says of a path that is not in the input, and of the remedy.

    Args:
        path: Where a name leads.
        root: The input, or what else its name may start from.
        folder: What a user must allow to read it.
    """
    return (
        f"leads to {path}, outside of {root}; put the file below that, or, if this machine has the "
        f"folder, pass --allow-outside {shlex.quote(folder)}"
    )


def _in_form_on_disk(path: str) -> str:
    """`path` in the Unicode form in which it is there; macOS and others write "é" unlike."""
    forms = [path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD"))]
    if len(set(forms)) == 1:  # most scripts know no other
        return path
    return next(filter(storage.exists, forms), path)


def _joined(folder: str, name: str) -> str:
    path = storage.join(folder, name)
    if storage.is_remote(path):
        scheme, _, rest = path.partition("://")
        path = f"{scheme}://{posixpath.normpath(rest)}"
    return path


def parent(path: str) -> str:
    """The folder that holds `path`, local or remote; "/" and a bucket hold themselves."""
    head = path.rstrip("/").rpartition("/")[0]
    if head.endswith(":/"):
        return path  # gs://bucket
    return head or "/"


def name_of(path: str) -> str:
    """The last part of `path`, local or remote; without a signature."""
    return unsigned(path).rstrip("/").rpartition("/")[2]
