"""Tables that are text: cut at bytes, and read from the line that begins there or behind."""

import dataclasses

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.manifest.lines import count_lines, is_compressed, read_blocks
from beam_pipeline.sources.manifest.table import RANGE_BYTES, Range, Table, whole
from beam_pipeline.sources.unpacking import unpack_gzip, with_ranges


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTable(Table):
    """A table that is text, in which a row begins with a line."""

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """As `Table.ranges`."""
        table = self
        if scratch and (path := _unpacked(self.manifest.path, scratch)) != self.manifest.path:
            manifest = dataclasses.replace(self.manifest, path=path)
            table = dataclasses.replace(self, manifest=manifest)
        path = table.manifest.path
        size = None if is_compressed(path) else storage.size(path)
        if size is None:
            return [whole(table)]
        return [
            Range(table, start, start + range_bytes)
            for start in range(0, max(size, 1), range_bytes)
        ]

    def first_row(self, start: int) -> int:
        """As `Table.first_row`, where no row goes on in another line."""
        if not start:
            return 0
        block = next(read_blocks(self.manifest.path, start), None)
        return block.starts[0] if block else storage.size(self.manifest.path) or 0

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """As `Table.skim`, where no row goes on in another line."""
        num_lines, behind, _ = count_lines(self.manifest.path, start, end)
        return num_lines, behind


def _unpacked(path: str, scratch: str) -> str:
    try:
        return (unpack_gzip if is_compressed(path) else with_ranges)(path, scratch)
    except RecordError as error:
        raise DataError(f"{path} cannot be decompressed ({error}); fetch it again") from error
