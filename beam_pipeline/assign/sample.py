"""A sample of what is met in parts, which merge."""

import dataclasses
import zlib
from collections.abc import Iterable

# Of so many, one is held in 100 bytes.
_NUM_HELD = 4096

_Texts = tuple[str, ...]


@dataclasses.dataclass(slots=True)
class Sample:
    """Some of the different values that were added: the same in whatever parts and order.

    Those are held whose hash ends in `level` zero bits, and the level rises with their number
    (Gibbons, Distinct Sampling, VLDB 2001).
    """

    values: set[_Texts] = dataclasses.field(default_factory=set)
    level: int = 0

    def add(self, values: Iterable[_Texts]) -> None:
        """Adds values."""
        self.values.update(filter(self._holds, values))
        while len(self.values) > _NUM_HELD:
            self.level += 1
            self.values = set(filter(self._holds, self.values))

    def merge(self, other: "Sample") -> None:
        """Adds what `other` was given."""
        if other.level > self.level:
            self.level = other.level
            self.values = set(filter(self._holds, self.values))
        self.add(other.values)

    def _holds(self, value: _Texts) -> bool:
        if not self.level:
            return True
        return not zlib.crc32(repr(value).encode()) & ((1 << self.level) - 1)
