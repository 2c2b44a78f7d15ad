"""Members of archives, and the paths of files in them.

`photos.zip:/cat/1.jpg` is the member `cat/1.jpg` of `photos.zip`, and `photos.zip:` the folder
that holds all members. `photos.zip:@60,4000,4100,deflated,1a2b3c4d/1.jpg` states the location of
the member, so that a reader does not need the archive's index. An `.npz` may be in a zip or tar.
"""

import re
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError

_INSIDE = re.compile(
    r"(?P<archive>.+\.(?i:zip|tar|npz)):(?:$|/(?P<name>.*)|@(?P<place>"
    r"\d{1,19},\d{1,19},\d{1,19},(?:plain|stored|deflated),[0-9a-f]{8})(?:/.*)?$)",
    re.DOTALL,
)


DAMAGED = "damaged archive"
UNSAFE = "unsafe path"
UNSUPPORTED = "unsupported member"

# Names that escape the folder they are joined to, on POSIX and Windows.
OUTSIDE = re.compile(r"([A-Za-z]:)?[\\/]|(.*[\\/])?\.\.([\\/]|$)", re.DOTALL)


class Member(NamedTuple):
    """A file in an archive.

    Attributes:
        name: Its path, without "./" at the start.
        problem: (reason, detail) if it cannot be used, else None.
    """

    name: str
    offset: int
    length: int
    problem: tuple[str, str] | None = None


class MemberLocation(NamedTuple):
    """Location of a file's content in its archive.

    Attributes:
        offset: First byte to read.
        packed: Bytes of the content in the archive.
        length: Bytes of the content.
        method: "plain" if the content begins at `offset`; "stored" or "deflated" if a zip's
            header of variable length comes first.
        crc32: Checksum of the content; 0 if plain.
    """

    offset: int
    packed: int
    length: int
    method: str
    crc32: int = 0


class Inside(NamedTuple):
    """A parsed path in an archive.

    Attributes:
        name: Path below its top, "" for the top; None if `place` is given.
        place: Location of the file.
    """

    archive: str
    name: str | None
    place: MemberLocation | None = None


def inside(path: str) -> Inside | None:
    """Parse a path in an archive; None for any other path."""
    if ":" not in path or (match := _INSIDE.match(path)) is None:
        return None
    if match["place"] is None:
        return Inside(match["archive"], (match["name"] or "").strip("/"))
    offset, packed, length, method, crc32 = match["place"].split(",")
    place = MemberLocation(int(offset), int(packed), int(length), method, int(crc32, 16))
    return Inside(match["archive"], None, place)


def top_of(archive: str) -> str:
    """Return the path of the folder that holds all members of an archive."""
    return f"{archive}:"


def placed(archive: str, name: str, place: MemberLocation) -> str:
    """Return the path of a file with its location."""
    where = f"{place.offset},{place.packed},{place.length},{place.method},{place.crc32:08x}"
    return f"{archive}:@{where}/{name.rpartition('/')[2]}"


class BoundedReads:
    """A handle for `tarfile` or `zipfile` that refuses to read a header of over `max_bytes`."""

    def __init__(self, handle: Any, max_bytes: int):
        self._handle = handle
        self._max_bytes = max_bytes
        self.seek = handle.seek
        self.tell = handle.tell

    def read(self, size: int = -1) -> bytes:
        if size > self._max_bytes or size < -1:
            raise RecordError(DAMAGED, f"byte {self.tell():,}: a header or index of {size:,} bytes")
        return bytes(self._handle.read(size))
