"""What annotations have and no feature keeps, counted by name (`records.Record.notes`)."""

from collections import Counter
from collections.abc import Iterable

# More names, and longer ones, are nobody's attributes.
_MAX_NAMES = 20
_MAX_CHARACTERS = 40


def not_kept(names: Iterable[str]) -> Counter[str]:
    """The notes of what is left behind: "not kept: pose" by how often that name comes."""
    counts: Counter[str] = Counter()
    for name, count in sorted(Counter(names).items()):
        known = len(counts) < _MAX_NAMES and len(name) <= _MAX_CHARACTERS
        counts[f"not kept: {name}" if known else "not kept: others"] += count
    return counts
