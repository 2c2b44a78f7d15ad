"""Objects of a store: what is there, and the bytes of the small ones."""

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tfrecord_dataset.errors import BeamTFRecordsError, ConfigError, DatasetDamagedError
from tfrecord_dataset.json_file import MAX_BYTES
from tfrecord_dataset.store import remote_listing, requests
from tfrecord_dataset.store.at_once import at_once
from tfrecord_dataset.store.clients import client_and_key
from tfrecord_dataset.store.faults import BEYOND_THE_END
from tfrecord_dataset.store.files import changed

_REQUESTS_AT_ONCE = 64


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file of a store.

    Attributes:
        url: Where it is.
        num_bytes: Its size.
        sha256: Hex digest, from metadata.json; empty if nothing states it.
        version: What the store says of the file's state (its ETag, or when it changed).
    """

    url: str
    num_bytes: int
    sha256: str = ""
    version: str = ""

    @property
    def local_name(self) -> str:
        """The name of a local copy: equal for equal content, if the digest is known."""
        stated = (
            self.sha256
            or hashlib.sha256(f"{self.url}\n{self.num_bytes}\n{self.version}".encode()).hexdigest()
        )
        name = re.sub(r"[^\w.-]", "_", self.url.partition("?")[0].rpartition("/")[2])
        return f"{stated[:32]}-{name[-128:]}"


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Says what a user can do about a fault of an object, or of its store.

    Raises:
        FileNotFoundError: It is not there.
        ConfigError: There are no credentials for it, or no such bucket.
        BeamTFRecordsError: It could not be read, though that was tried for minutes.
    """
    if set("*?[") & set(url.partition("://")[2].partition("/")[0]):
        raise ConfigError(f"{url}: a bucket's name cannot have a wildcard; write it out")
    try:
        yield
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise ConfigError(
            f"{url} may not be read: permission denied; check the credentials, and what they allow"
        ) from error
    except OSError as error:
        if error.errno == BEYOND_THE_END:
            raise changed(url) from error
        raise BeamTFRecordsError(f"{url} cannot be read: {error.strerror}") from error


def exists(url: str) -> bool:
    """Whether there is an object."""
    return _describe(url) is not None


def describe(urls: Sequence[str]) -> list[RemoteFile]:
    """Objects, many asked for at once.

    Raises:
        DatasetDamagedError: One is not there.
    """
    found = at_once(_describe, urls, _REQUESTS_AT_ONCE)
    for url, file in zip(urls, found, strict=True):
        if file is None:
            raise DatasetDamagedError(f"there is no {url}; restore it, or check the URL")
    return [file for file in found if file]


def _describe(url: str) -> RemoteFile | None:
    with explained(url), contextlib.suppress(FileNotFoundError):
        if client_and_key(url)[1]:
            return _file(url, requests.head(url))
    return None


def _file(url: str, meta: Any) -> RemoteFile:
    version = meta["e_tag"] or str(meta["last_modified"])
    return RemoteFile(url=url, num_bytes=meta["size"], version=version)


def _is_same(one: RemoteFile, other: RemoteFile) -> bool:
    # Azure lists an ETag without the quotes with which it is served.
    versions = {each.version.removeprefix("W/").strip('"') for each in (one, other)}
    return one.num_bytes == other.num_bytes and len(versions) == 1


def read(url: str) -> bytes:
    """A small object.

    Raises:
        FileNotFoundError: It is not there.
        DatasetDamagedError: It is large.
        BeamTFRecordsError: As `explained`.
    """

    def check(meta: Any) -> None:
        if meta["size"] > MAX_BYTES:
            raise DatasetDamagedError(
                f"{url} has more than the {MAX_BYTES:,} bytes that such a file may have; restore it"
            )

    with explained(url):
        return requests.get(url, check=check)


def read_range(file: RemoteFile, offset: int, length: int) -> bytes:
    """Some bytes of an object; fewer at its end.

    Raises:
        DatasetChangedError: It is another object by now.
        BeamTFRecordsError: As `explained`.
    """
    length = min(length, file.num_bytes - offset)
    if length <= 0:
        return b""
    # All of a file is asked for without a range, which some web servers do not know.
    options = None if length == file.num_bytes else {"range": (offset, offset + length)}

    def check(meta: Any) -> None:
        if not _is_same(_file(file.url, meta), file):
            raise changed(file.url)

    try:
        with explained(file.url):
            data = requests.get(file.url, options, check)
    except FileNotFoundError as error:
        raise changed(file.url) from error
    if len(data) != length:
        raise changed(file.url)
    return data


def files_in(url: str) -> dict[str, RemoteFile]:
    """The objects directly below `url`, by name; none, if there is no such folder.

    Raises:
        ConfigError: It is a web server's, which lists nothing.
    """
    with explained(url):
        found = remote_listing.list_level(url)["objects"]
    base = url.rstrip("/")
    names = {each["path"].rpartition("/")[2]: each for each in found}
    return {name: _file(f"{base}/{name}", names[name]) for name in sorted(names)}
