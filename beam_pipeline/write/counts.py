"""Records in are records out and records rejected: both ends are counted, and compared."""

from collections import Counter
from collections.abc import Sequence

from beam_pipeline.assign.plan import Plan
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import CountMismatchError


def check_counts(plan: Plan, shards: Sequence[ShardInfo], num_rejected: int, num_read: int) -> None:
    """Compares the number of records read with those written and rejected.

    Raises:
        CountMismatchError: They differ, or the shards are not those that were planned.
    """
    num_written = sum(info.num_records for info in shards)
    planned = {
        (name, number) for name, split in plan.splits.items() for number in range(split.num_shards)
    }
    written = sorted((info.split, info.shard) for info in shards)
    by_split: Counter[str] = Counter()
    for info in shards:
        by_split[info.split] += info.num_records
    if (
        num_read != num_written + num_rejected
        or written != sorted(planned)
        or by_split != {name: split.num_records for name, split in plan.splits.items()}
    ):
        raise CountMismatchError(
            f"{num_read} records were read, but {num_written} written to {len(shards)} of "
            f"{len(planned)} shards and {num_rejected} rejected; the runner lost or repeated "
            "some, so nothing was committed: run the build again"
        )
