"""The rates of an input pipeline stage by stage, and what follows from them."""

import dataclasses
from collections.abc import Mapping, Sequence

# By stage; what changes without it is said before.
_REMEDIES: Mapping[str, str] = {
    "read": "put the shards on a faster disk, or on this machine",
    "parse": "leave features out (--inputs), or build a dataset without those that are not used",
    "decode": "keep decoded images (--cache memory or disk), or build the dataset with smaller "
    "ones (build --image-max-side)",
    "augment": "choose a cheaper --augment",
    "batch": "more CPU cores: batches are only copied and checked",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Rung:
    """The pipeline up to a stage.

    Attributes:
        stage: Its last stage.
        records_per_s: That come out of it.
    """

    stage: str
    records_per_s: float


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


def seconds_by_stage(ladder: Sequence[Rung]) -> dict[str, float]:
    """Seconds that each stage adds to a record; never below 0, as measurements may be."""
    found: dict[str, float] = {}
    before = 0.0
    for rung in ladder:
        total = max(before, 1 / rung.records_per_s)
        found[rung.stage] = total - before
        before = total
    return found


def find_bound(ladder: Sequence[Rung]) -> Bound:
    """The stage that bounds the pipeline."""
    seconds = seconds_by_stage(ladder)
    total = sum(seconds.values())
    stage = max(seconds, key=seconds.__getitem__)
    left = total - seconds[stage]
    return Bound(
        stage=stage,
        share=seconds[stage] / total,
        records_per_s=1 / left if left > 0 else float("inf"),
        remedy=_REMEDIES[stage],
    )


def as_lines(ladder: Sequence[Rung]) -> list[str]:
    """A table of the stages."""
    seconds = seconds_by_stage(ladder)
    lines = [f"{'up to':10}{'records/s':>12}{'adds µs a record':>18}"]
    for rung in ladder:
        added = seconds[rung.stage] * 1e6
        lines.append(f"{rung.stage:10}{rung.records_per_s:12,.0f}{added:18,.0f}")
    return lines
