"""Files of the schemes that only Apache Beam knows, such as hdfs://, through its FileSystems."""

import contextlib
import errno
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from beam_pipeline.files.faults import UnknownSchemeError, too_large
from tfrecord_dataset.store.listing import FileNames, FolderNames, Status, names_by_folder
from tfrecord_dataset.store.urls import scheme_of

# Beam's name for a file that is read and written as it is, whatever its suffix.
_AS_IT_IS = "uncompressed"


def _systems(url: str) -> Any:
    """Beam's FileSystems, which know the scheme of `url`.

    Raises:
        UnknownSchemeError: They do not.
    """
    try:
        FileSystems.get_filesystem(url)
    except (ValueError, BeamIOError) as error:
        raise UnknownSchemeError(
            f"Apache Beam cannot read {scheme_of(url)}:// here; copy the data to a folder, or "
            "install what Beam needs for it"
        ) from error
    return FileSystems


@contextlib.contextmanager
def _os_errors(url: str) -> Iterator[None]:
    try:
        yield
    except BeamIOError as error:
        if not FileSystems.exists(url):
            raise FileNotFoundError(errno.ENOENT, "No such file", url) from error
        raise OSError(errno.EREMOTEIO, str(error), url) from error


def read(
    url: str,
    offset: int,
    length: int | None,
    at_most: int,
    note: Callable[[Status], None] | None = None,
) -> bytes:
    """The bytes of a range, fewer where the file ends before it does."""
    facts = status(url)
    if note:
        note(facts)
    rest = max(0, facts.size - offset)
    length = rest if length is None else min(length, rest)
    if length > at_most:
        raise too_large(url, at_most)
    with open_reader(url) as handle:
        handle.seek(offset)
        return bytes(handle.read(length))


def open_reader(url: str) -> Any:
    """The file."""
    systems = _systems(url)
    with _os_errors(url):
        return systems.open(url, compression_type=_AS_IT_IS)


@contextlib.contextmanager
def writing(url: str, durable: bool) -> Iterator[Any]:
    """A handle of a new file, which lies at `url` once all of it is written."""
    del durable
    handle = io.BytesIO()
    yield handle
    write(url, handle.getvalue(), durable=True)


def create(url: str) -> Any:
    """A handle of a new file, which lies at `url` at once."""
    return _systems(url).create(url, compression_type=_AS_IT_IS)


def write(url: str, data: bytes, durable: bool) -> None:
    """Writes a file whole."""
    del durable
    make_folder(url.rpartition("/")[0])
    with create(url) as handle:
        handle.write(data)


def sync(urls: Sequence[str]) -> None:
    """Nothing: what is written is durable."""


def status(url: str) -> Status:
    """Size and version of a file."""
    with _os_errors(url):
        [match] = _systems(url).match([url])
        if not match.metadata_list:
            raise FileNotFoundError(errno.ENOENT, "No such file", url)
        [metadata] = match.metadata_list
    size = int(metadata.size_in_bytes)
    return Status(size, f"{size} {metadata.last_updated_in_seconds}")


def exists(url: str) -> bool:
    """Whether a file is there."""
    return bool(_systems(url).exists(url))


def is_folder(url: str) -> bool:
    """Whether anything lies below `url`."""
    return any(True for _ in _matches(f"{url.rstrip('/')}/**"))


def make_folder(url: str) -> None:
    """Makes a folder and those above it, where they are missing."""
    systems = _systems(url)
    with contextlib.suppress(OSError):  # it is there, or needs no making
        systems.mkdirs(url)


def _matches(pattern: str) -> Iterator[str]:
    for match in _systems(pattern).match([pattern]):
        for metadata in match.metadata_list:
            yield metadata.path


def list_names(root: str) -> Iterator[FileNames]:
    """Every file below `root`."""
    root = root.rstrip("/")
    return names_by_folder(path[len(root) + 1 :] for path in _matches(f"{root}/**"))


def scan_folder(url: str) -> Iterator[tuple[str, bool]]:
    """The names of what lies directly below `url`, and which are folders."""
    folders, files = list_folder(url)
    yield from ((name, True) for name in folders)
    yield from ((name, False) for name in files)


sample_folder = scan_folder


def list_folder(url: str) -> FolderNames:
    """The names of what lies directly below `url`, hidden ones too."""
    root = url.rstrip("/")
    names = [path[len(root) + 1 :].partition("/") for path in _matches(f"{root}/**")]
    return FolderNames(
        tuple(sorted({name for name, slash, _ in names if slash})),
        tuple(sorted({name for name, slash, _ in names if not slash})),
    )


def match_files(pattern: str) -> list[str]:
    """The URLs of the files that fit `pattern`."""
    return list(_matches(pattern))


def place_all(pairs: Sequence[tuple[str, str]]) -> None:
    """Renames files, over others that are there; what is done already is done."""
    for path, name in pairs:
        if exists(path) or not exists(name):
            make_folder(name.rpartition("/")[0])
            with _os_errors(path):
                _systems(path).rename([path], [name])


def delete_all(urls: Sequence[str]) -> None:
    """Deletes files that may be there."""
    for url in urls:
        if exists(url):
            _systems(url).delete([url])


def delete(url: str) -> None:
    """Deletes a file, or a folder with all it holds, that may be there."""
    delete_all([url])


def sizes(urls: Sequence[str]) -> list[int | None]:
    """The bytes of each file, or None where there is none."""
    return [status(url).size if exists(url) else None for url in urls]


def newest_change(url: str) -> float:
    """When a file below `url` changed last, in seconds since 1970; 0 for none."""
    matches = _systems(url).match([f"{url.rstrip('/')}/**"])
    files = [metadata for match in matches for metadata in match.metadata_list]
    return float(max((each.last_updated_in_seconds for each in files), default=0.0))
