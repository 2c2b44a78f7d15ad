"""The rates of an input pipeline stage by stage, and what follows from them.

A ladder is records a second by stage, each stage on top of those before.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

# What is proposed is faster by so much, which measurements of the same thing hardly differ by.
WORTH = 1.1

# By stage; what changes without it is said before.
_REMEDIES: Mapping[str, str] = {
    "read": "put the shards on a faster disk, or on this machine",
    "parse": "leave features out (--inputs), or build a dataset without those that are not used",
    "decode": "more CPU cores: no other way to store or keep images was faster",
    "augment": "choose a cheaper --augment",
    "batch": "more CPU cores: batches are only copied and checked",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What was tried, and what came of it.

    Attributes:
        text: What to type.
        records_per_s: Of the whole pipeline.
        record_bytes: That a record takes on disk; None for those that it takes now.
    """

    text: str
    records_per_s: float
    record_bytes: int | None = None

    def __str__(self) -> str:
        size = "" if self.record_bytes is None else f", {self.record_bytes:,} bytes a record"
        return f"{self.text} ({self.records_per_s:,.0f} records/s{size})"


@dataclasses.dataclass(frozen=True, slots=True)
class Bound:
    """The stage that takes the most time.

    Attributes:
        stage: Its name.
        share: Of the time of a record.
        records_per_s: Of the whole pipeline, if the stage took no time; infinite if it is all.
        remedy: What to do.
    """

    stage: str
    share: float
    records_per_s: float
    remedy: str


def seconds_by_stage(ladder: Mapping[str, float]) -> dict[str, float]:
    """Seconds that each stage adds to a record; never below 0, as measurements may be."""
    totals = [0.0, *itertools.accumulate((1 / rate for rate in ladder.values()), max)]
    added = (after - before for before, after in itertools.pairwise(totals))
    return dict(zip(ladder, added, strict=True))


def find_bound(ladder: Mapping[str, float], tried: Sequence[Remedy] = ()) -> Bound:
    """The stage that bounds the pipeline, and what to do, if something that was tried pays.

    Of what is as fast as the fastest, it is what takes the least of a disk.

    Args:
        ladder: The stages.
        tried: What may be done about the decoding.
    """
    seconds = seconds_by_stage(ladder)
    total = sum(seconds.values())
    stage = max(seconds, key=seconds.__getitem__)
    left = total - seconds[stage]
    fastest = max((each.records_per_s for each in tried), default=0.0)
    fast = [each for each in tried if each.records_per_s * WORTH > fastest]
    best = min(fast, key=lambda each: each.record_bytes or 0, default=None)
    pays = stage == "decode" and best is not None and best.records_per_s * total > WORTH
    return Bound(
        stage=stage,
        share=seconds[stage] / total,
        records_per_s=1 / left if left > 0 else float("inf"),
        remedy=str(best) if pays else _REMEDIES[stage],
    )


def as_lines(ladder: Mapping[str, float]) -> list[str]:
    """A table of the stages."""
    added = seconds_by_stage(ladder)
    return [
        f"{'up to':10}{'records/s':>12}{'adds µs a record':>18}",
        *(f"{each:10}{rate:12,.0f}{added[each] * 1e6:18,.0f}" for each, rate in ladder.items()),
    ]
