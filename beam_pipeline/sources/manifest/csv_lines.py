"""Lines on their way to Python's reader of CSV, which may be sent back to one of them."""

import itertools
from collections.abc import Callable, Iterator

from beam_pipeline.sources.manifest.lines import MAX_LINE_BYTES, Block

# Bytes that are read once more, in one range, behind quotes that are not closed; then a row has
# one line.
_MAX_AGAIN_BYTES = 8 * MAX_LINE_BYTES


class RowTooLongError(Exception):
    """A row has lines and lines, since a quote is not closed."""


class Lines:
    """The lines of a file, or of a range of it, and where each of them begins.

    Those before the row that is read are forgotten. The lines are numbered from 0.

    Attributes:
        row: The line at which the row begins that is read.
        begin_file: Whether the file begins with them.
        is_unicode: Whether all lines so far were UTF-8.

    Args:
        blocks: The lines.
        mended: What the reader gets of a line that has quotes.
    """

    def __init__(self, blocks: Iterator[Block], mended: Callable[[str], str]):
        self._blocks = blocks
        self._mended = mended
        # From the line `_first` on; `_starts` has one more, behind the last of the lines.
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._first = 0
        self._again_bytes = 0
        self.row = 0
        self.begin_file = False
        self.is_unicode = True

    def begin(self, end: int, *, in_row: bool) -> bool:
        """Whether a line starts before the byte `end`."""
        block = next(self._blocks, None)
        if block is None or block.starts[0] >= end:
            return False
        self.begin_file = block.begins_file
        self._take(block)
        if in_row:
            self._texts[0] = f'"{self._texts[0]}'  # as if the row began here, in quotes
        return True

    def start_of(self, number: int) -> int:
        """The byte at which a line begins, of those that the row has and the one behind it."""
        return self._starts[number - self._first]

    def text(self, number: int) -> str:
        """A line of the row."""
        return self._texts[number - self._first]

    def has(self, number: int) -> bool:
        """Whether there is such a line, the one behind the last that was read at most."""
        if number - self._first == len(self._texts) and (block := next(self._blocks, None)):
            self._take(block)
        return number - self._first < len(self._texts)

    def go_back(self, behind: int) -> None:
        """Counts what is read once more: what is behind the row's first line, up to a line."""
        self._again_bytes += self.start_of(behind) - self.start_of(self.row + 1)

    def following(self, number: int) -> Iterator[str]:
        """The lines from that one on; one line alone, once too much was read again."""
        index = number - self._first
        if self._again_bytes > _MAX_AGAIN_BYTES:
            return iter(self._texts[index : index + 1])
        loaded = map(self._texts.__getitem__, range(index, len(self._texts)))
        return itertools.chain(loaded, itertools.chain.from_iterable(self._later()))

    def _later(self) -> Iterator[list[str]]:
        for block in self._blocks:
            if self._starts[-1] - self.start_of(self.row) > MAX_LINE_BYTES:
                self._take(block)
                raise RowTooLongError("a quote is not closed")
            yield self._take(block)

    def _take(self, block: Block) -> list[str]:
        lines = list(map(self._mended, block.lines)) if block.has_quotes else block.lines
        self.is_unicode = self.is_unicode and block.is_unicode
        self._texts = [*self._texts[self.row - self._first :], *lines]
        self._starts = [*self._starts[self.row - self._first : -1], *block.starts]
        self._first = self.row
        return lines
