"""The arrays of an .npz file as members whose values are byte ranges."""

import zipfile
from collections.abc import Iterator
from typing import IO

from beam_pipeline.files.archive.member import Member
from beam_pipeline.media import npz


def npz_members(handle: IO[bytes]) -> Iterator[Member]:
    """The arrays of an .npz file, a `Container`; raises RecordError as `npz.members`."""
    for info in npz.members(handle):
        yield Member(
            info.filename.removesuffix(".npy"),
            npz.data_offset(handle, info),
            info.file_size,
            is_compressed=info.compress_type != zipfile.ZIP_STORED,
        )
