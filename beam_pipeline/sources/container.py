"""Containers: archives whose members are byte ranges; nothing is unpacked."""

import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from beam_pipeline.media import npz


class Member(NamedTuple):
    """One member of an archive that is not a folder.

    Attributes:
        name: Its path, without "./" at the start.
        offset: Where in the archive its bytes begin.
        length: How many they are, once decompressed.
        problem: (reason, detail) of why it cannot be used; None where it can.
        is_compressed: Whether the bytes there are not its own, so that it has to be unpacked.
    """

    name: str
    offset: int
    length: int
    problem: tuple[str, str] | None = None
    is_compressed: bool = False


# From an open archive to its members in their order, in bounded memory; RecordError, once the
# members before the fault are out, where it is damaged.
Container = Callable[[Any], Iterator[Member]]


def npz_members(handle: IO[bytes]) -> Iterator[Member]:
    """The arrays of an .npz file, a `Container`; raises RecordError as `npz.members`."""
    for info in npz.members(handle):
        yield Member(
            info.filename.removesuffix(".npy"),
            npz.data_offset(handle, info),
            info.file_size,
            is_compressed=info.compress_type != zipfile.ZIP_STORED,
        )
