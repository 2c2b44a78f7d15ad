"""Rejects and notes that several sources make."""

from collections import Counter
from collections.abc import Iterable

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Rejected

# Limits for notes; other names are counted together.
_MAX_NAMES = 20
_MAX_CHARACTERS = 40


def malformed(detail: str) -> RecordError:
    """Return the error for data that violates its format."""
    return RecordError("malformed annotation", detail)


def left_out(source: str, reason: str, detail: str) -> Rejected:
    """Make a reject, not bad, for a file that is not data or is in the wrong place."""
    return Rejected(source=source, reason=reason, detail=detail, bad=False)


def not_kept(names: Iterable[str]) -> Counter[str]:
    """Count each name that is not kept: {"not kept: pose": 2}."""
    counts: Counter[str] = Counter()
    for name, count in sorted(Counter(names).items()):
        known = len(counts) < _MAX_NAMES and len(name) <= _MAX_CHARACTERS
        counts[f"not kept: {name}" if known else "not kept: others"] += count
    return counts
