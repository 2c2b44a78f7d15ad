"""Lines on their way to Python's reader of CSV, which may be sent back to one of them."""

import bisect
import itertools
from collections.abc import Iterator, Sequence

from beam_pipeline.sources.manifest.csv_dialect import Dialect
from beam_pipeline.sources.manifest.lines import MAX_LINE_BYTES, Block

# Bytes that are read once more, in one range, behind quotes that are not closed; then a row has
# one line.
_MAX_AGAIN_BYTES = 8 * MAX_LINE_BYTES


class RowTooLongError(Exception):
    """A row has lines and lines, since a quote is not closed."""


class Lines:
    """The lines of a file from a byte on, but for those that were dropped.

    Attributes:
        number: Of the first line that is kept, from 0.
        texts: The lines from there on that are loaded.
        starts: The byte at which each begins, and then the one at which the last ends.
        is_unicode: Whether all lines so far were UTF-8.
    """

    def __init__(self, blocks: Iterator[Block], dialect: Dialect):
        self._blocks = blocks
        self._dialect = dialect
        self._again_bytes = 0
        self.number = 0
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.is_unicode = True

    def before(self, end: int) -> int:
        """How many lines are loaded that begin before the byte `end`; 0 if none does."""
        if not self.texts and (block := next(self._blocks, None)):
            self._take(block)
        return bisect.bisect_left(self.starts, end, hi=len(self.texts))

    def drop(self, count: int) -> None:
        """Forgets so many lines."""
        del self.texts[:count], self.starts[:count]
        self.number += count

    def go_back(self, line: int, behind: int) -> None:
        """Counts what is read once more: what is behind a row's first line, up to a line."""
        self._again_bytes += self.starts[behind] - self.starts[line + 1]

    def following(self, ends: Sequence[int]) -> Iterator[str]:
        """The lines from the last of `ends` on; one alone, once too much was read again.

        Args:
            ends: The lines behind the rows so far: the last is where the next begins.

        Raises:
            RowTooLongError: When that row has more than any line may have.
        """
        if self._again_bytes > _MAX_AGAIN_BYTES:
            return iter([self.texts[ends[-1]]])
        loaded = map(self.texts.__getitem__, range(ends[-1], len(self.texts)))
        return itertools.chain(loaded, itertools.chain.from_iterable(self._later(ends)))

    def _later(self, ends: Sequence[int]) -> Iterator[list[str]]:
        for block in self._blocks:
            is_too_long = self.starts[-1] - self.starts[ends[-1]] > MAX_LINE_BYTES
            first = len(self.texts)
            self._take(block)
            if is_too_long:
                raise RowTooLongError("a quote is not closed")
            yield self.texts[first:]

    def _take(self, block: Block) -> None:
        mends = block.has_quotes and self._dialect.may_have_stray_quotes
        lines = map(self._dialect.mended, block.lines) if mends else block.lines
        self.is_unicode = self.is_unicode and block.is_unicode
        self.texts.extend(lines)
        self.starts[-1:] = block.starts
