"""Objects of a store: status, and content of small ones."""

import contextlib
import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tfrecord_dataset.errors import BeamTFRecordsError, ConfigError, DatasetDamagedError
from tfrecord_dataset.json_file import MAX_BYTES
from tfrecord_dataset.store import remote_listing, requests
from tfrecord_dataset.store.clients import client_and_key
from tfrecord_dataset.store.faults import BEYOND_THE_END
from tfrecord_dataset.store.pinned_files import changed
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.urls import split_object

REQUESTS_AT_ONCE = 64
_WORTH_A_LISTING = 100  # objects of one folder


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file on a store.

    Attributes:
        sha256: Hex digest from metadata.json; empty if unknown.
        version: The store's version of the file (its ETag, or modification time).
    """

    url: str
    num_bytes: int
    sha256: str = ""
    version: str = ""

    @property
    def local_name(self) -> str:
        """Name of a local copy: equal for equal content, if the digest is known."""
        stated = (
            self.sha256
            or hashlib.sha256(f"{self.url}\n{self.num_bytes}\n{self.version}".encode()).hexdigest()
        )
        name = re.sub(r"[^\w.-]", "_", self.url.partition("?")[0].rpartition("/")[2])
        return f"{stated[:32]}-{name[-128:]}"


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Convert a fault of an object or its store to an error with a remedy.

    Raises:
        FileNotFoundError: The object does not exist.
        ConfigError: Credentials or the bucket are missing.
        BeamTFRecordsError: The object could not be read, after minutes of retries.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise ConfigError(
            f"{url} cannot be read: permission denied; check the credentials and their permissions"
        ) from error
    except OSError as error:
        if error.errno == BEYOND_THE_END:
            raise changed(url) from error
        raise BeamTFRecordsError(f"{url} cannot be read: {error.strerror}") from error


def describe(urls: Sequence[str]) -> list[RemoteFile | None]:
    """Get the status of objects in parallel; None for one that does not exist.

    Lists a folder of many objects: each worker of a training asks for all shards.
    """
    found: dict[str, RemoteFile | None] = {}
    for folder, count in Counter(url.rpartition("/")[0] for url in urls).items():
        if count >= _WORTH_A_LISTING:
            root = split_object(folder)[0]
            with contextlib.suppress(ConfigError), explained(folder):  # listing may be forbidden
                listed = remote_listing.list_level(folder)["objects"]
                found |= {(url := f"{root}/{meta['path']}"): _file(url, meta) for meta in listed}
    others = [url for url in urls if url not in found]
    described = run_in_threads(_describe, others, REQUESTS_AT_ONCE)
    found |= zip(others, described, strict=True)
    return [found[url] for url in urls]


def _describe(url: str) -> RemoteFile | None:
    with explained(url), contextlib.suppress(FileNotFoundError):
        if client_and_key(url)[1]:
            return _file(url, requests.head(url))
    return None


def _file(url: str, meta: Any, sha256: str = "") -> RemoteFile:
    version = meta["e_tag"] or str(meta["last_modified"])
    version = version.removeprefix("W/").strip('"')  # Azure omits an ETag's quotes in listings
    return RemoteFile(url=url, num_bytes=meta["size"], sha256=sha256, version=version)


def read(url: str) -> bytes:
    """Read a small object.

    Raises:
        FileNotFoundError: The object does not exist.
        DatasetDamagedError: The object is too large.
        BeamTFRecordsError: As in `explained`.
    """
    with explained(url), requests.opened(url) as response:
        if response.meta["size"] > MAX_BYTES:
            raise DatasetDamagedError(
                f"{url} has more than the {MAX_BYTES:,} bytes that such a file may have; restore it"
            )
        return requests.content(response)


def read_range(file: RemoteFile, offset: int, length: int) -> bytes:
    """Read a range of an object; shorter at its end.

    Raises:
        DatasetChangedError: The object has changed.
        BeamTFRecordsError: As in `explained`.
    """
    length = min(length, file.num_bytes - offset)
    if length <= 0:
        return b""
    # Read a whole file without a range, which some web servers do not support.
    options = None if length == file.num_bytes else {"range": (offset, offset + length)}
    try:
        with explained(file.url), requests.opened(file.url, options) as response:
            if _file(file.url, response.meta, file.sha256) != file:
                raise changed(file.url)
            data = requests.content(response)
    except FileNotFoundError as error:
        raise changed(file.url) from error
    if len(data) != length:
        raise changed(file.url)
    return data
