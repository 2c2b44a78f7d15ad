"""Tables that are text: cut at bytes, and read from the line that begins there or behind.

A file that is none, but of which text is made, is such a table too: it is unpacked once.
"""

import dataclasses

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.compressed import is_compressed
from beam_pipeline.sources.manifest.lines import TextOf, count_lines, read_blocks, text_of
from beam_pipeline.sources.manifest.table import RANGE_BYTES, Range, Table, whole
from beam_pipeline.sources.unpacking import unpacked, with_ranges


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTable(Table):
    """A table that is text, in which a row begins with a line.

    Attributes:
        made_by: Makes text of a file that is none; None of one that is.
        part: What of the file that is, where it may be one of several.
    """

    made_by: TextOf | None = None
    part: str = ""

    @property
    def is_packed(self) -> bool:
        """As `Table.is_packed`."""
        return self.made_by is not None or is_compressed(self.manifest.path)

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """As `Table.ranges`."""
        table, path = self, self._with_ranges(scratch) if scratch else self.manifest.path
        if path != self.manifest.path:
            manifest = dataclasses.replace(self.manifest, path=path)
            table = dataclasses.replace(self, manifest=manifest, made_by=None)
        size = None if table.is_packed else storage.size(path)
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
        num_lines, behind, _ = count_lines(self.manifest.path, start, end, self.made_by)
        return num_lines, behind

    def _with_ranges(self, scratch: str) -> str:
        """Where its text lies so that ranges of it can be read."""
        path = self.manifest.path
        if self.is_packed:
            return unpacked(path, self.part, scratch, text_of(path, self.made_by))
        try:
            return with_ranges(path, scratch)
        except RecordError as error:
            raise DataError(f"{path} cannot be decompressed ({error}); fetch it again") from error
