"""Count fields of annotations that no feature keeps (`records.Record.notes`)."""

from collections import Counter
from collections.abc import Iterable

# Limits for notes; other names are counted together.
_MAX_NAMES = 20
_MAX_CHARACTERS = 40


def not_kept(names: Iterable[str]) -> Counter[str]:
    """Count each name that is not kept: {"not kept: pose": 2}."""
    counts: Counter[str] = Counter()
    for name, count in sorted(Counter(names).items()):
        known = len(counts) < _MAX_NAMES and len(name) <= _MAX_CHARACTERS
        counts[f"not kept: {name}" if known else "not kept: others"] += count
    return counts
