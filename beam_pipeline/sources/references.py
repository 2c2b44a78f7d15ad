"""Resolve names of images in annotation files to paths inside the input.

Other paths are refused: annotations from a stranger could otherwise read any file of this machine
into a dataset, or request any address.
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


def _joined(folder: str, name: str) -> str:
    path = storage.join(folder, name)
    if storage.is_remote(path):
        scheme, _, rest = path.partition("://")
        path = f"{scheme}://{posixpath.normpath(rest)}"
    return path


def parent(path: str) -> str:
    """Return a local or remote path's parent folder; "/" and a bucket are their own parents."""
    head = path.rstrip("/").rpartition("/")[0]
    if head.endswith(":/"):
        return path  # gs://bucket
    return head or "/"


def name_of(path: str) -> str:
    """Return the last part of a local or remote path, without a signature."""
    return unsigned(path).rstrip("/").rpartition("/")[2]
