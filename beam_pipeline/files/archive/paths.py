"""Members of archives, and the paths of files in them.

`photos.zip:/cat/1.jpg` is the member `cat/1.jpg` of `photos.zip`, and `photos.zip:` the folder
that holds all members. `photos.zip:@60,4000,4100,deflated,1a2b3c4d/1.jpg` states where the member
lies, so that whoever reads it need not know the others. Archives may nest.
"""

import re
from typing import NamedTuple

_INSIDE = re.compile(
    r"(?P<archive>.+\.(?i:zip|tar|npz)):(?:$|/(?P<name>.*)|@(?P<place>"
    r"\d{1,19},\d{1,19},\d{1,19},(?:plain|stored|deflated),[0-9a-f]{8})(?:/.*)?$)",
    re.DOTALL,
)


DAMAGED = "damaged archive"
UNSAFE = "unsafe path"
UNSUPPORTED = "unsupported member"

# What leads out of the folder that it is joined to; on Windows, too.
OUTSIDE = re.compile(r"([A-Za-z]:)?[\\/]|(.*[\\/])?\.\.([\\/]|$)", re.DOTALL)


class Member(NamedTuple):
    """One member of an archive that is not a folder.

    Attributes:
        name: Its path, without "./" at the start.
        offset: Where in the archive its bytes begin.
        length: How many they are.
        problem: (reason, detail) of why it cannot be used; None where it can.
    """

    name: str
    offset: int
    length: int
    problem: tuple[str, str] | None = None


class Place(NamedTuple):
    """Where in its archive the content of a file lies.

    Attributes:
        offset: First byte of what has to be read.
        packed: Bytes of the content as they lie there.
        length: Bytes of the content.
        method: "plain" where it lies at `offset`; "stored" or "deflated" where a zip's header,
            which is as long as it says itself, comes before it.
        crc32: Of the content; 0 where it is plain.
    """

    offset: int
    packed: int
    length: int
    method: str
    crc32: int = 0


class Inside(NamedTuple):
    """What a path in an archive says.

    Attributes:
        archive: The path of the archive itself.
        name: The path below its top, "" for that; None where `place` says where it lies.
        place: Where the file lies.
    """

    archive: str
    name: str | None
    place: Place | None = None


def inside(path: str) -> Inside | None:
    """What a path in an archive says; None for any other path."""
    if ":" not in path or (found := _INSIDE.match(path)) is None:
        return None
    if found["place"] is None:
        return Inside(found["archive"], (found["name"] or "").strip("/"))
    offset, packed, length, method, crc32 = found["place"].split(",")
    place = Place(int(offset), int(packed), int(length), method, int(crc32, 16))
    return Inside(found["archive"], None, place)


def top_of(archive: str) -> str:
    """The folder that holds all members of an archive."""
    return f"{archive}:"


def placed(archive: str, name: str, place: Place) -> str:
    """The path of a file that says where it lies."""
    where = f"{place.offset},{place.packed},{place.length},{place.method},{place.crc32:08x}"
    return f"{archive}:@{where}/{name.rpartition('/')[2]}"
