"""Manifests in byte ranges, which many workers read at once."""

import dataclasses
import sys
from collections.abc import Iterator
from typing import NamedTuple

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES, Block, is_compressed, read_blocks
from beam_pipeline.sources.manifest.rows import RowForm
from beam_pipeline.sources.unpacking import unpack_gzip

RANGE_BYTES = 16 << 20


class RowRange(NamedTuple):
    """The lines that begin in a byte range of a manifest.

    Attributes:
        manifest: The file.
        form: How its rows are written.
        start: The first byte.
        end: The byte behind the last; beyond the file's end where it is compressed.
    """

    manifest: Manifest
    form: RowForm
    start: int
    end: int

    def blocks(self) -> Iterator[Block]:
        """Its lines, and those behind it."""
        return read_blocks(self.manifest.path, self.start, min(self.end - self.start, BLOCK_BYTES))


def ranges_of(
    table: tuple[Manifest, RowForm], range_bytes: int = RANGE_BYTES, scratch: str = ""
) -> list[RowRange]:
    """The ranges of one manifest.

    Args:
        table: The manifest, and how its rows are written.
        range_bytes: Of each; 4 or more, for a byte order mark belongs to the first line.
        scratch: The folder into which a compressed one is unpacked; "" reads it whole.

    Raises:
        DataError: It is compressed, and cut short or damaged.
    """
    manifest, form = table
    if scratch and is_compressed(manifest.path):
        manifest = dataclasses.replace(manifest, path=_unpacked(manifest.path, scratch))
    size = None if is_compressed(manifest.path) else storage.size(manifest.path)
    if size is None:
        return [RowRange(manifest, form, 0, sys.maxsize)]
    return [
        RowRange(manifest, form, start, start + range_bytes)
        for start in range(0, max(size, 1), range_bytes)
    ]


def _unpacked(path: str, scratch: str) -> str:
    try:
        return unpack_gzip(path, scratch)
    except RecordError as error:
        raise DataError(f"{path} cannot be decompressed ({error}); fetch it again") from error
