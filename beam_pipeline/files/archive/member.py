"""One member of an archive, and where its bytes lie."""

import re
from typing import NamedTuple

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
