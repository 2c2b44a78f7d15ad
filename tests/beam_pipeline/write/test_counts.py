"""Counts are compared before anything is committed."""

import pytest

from beam_pipeline.assign.placement import SplitPlan
from beam_pipeline.assign.plan import Plan
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import CountMismatchError
from beam_pipeline.write.commit import check_counts

SPLITS = {
    "train": SplitPlan(num_records=10, num_bytes=100, first_bins=(0, 5), first_records=(0, 6)),
    "test": SplitPlan(num_records=2, num_bytes=20, first_bins=(0,), first_records=(0,)),
}
PLAN = Plan(splits=SPLITS, schema=(), numbers_ids=True, problem=None)


def shard(split, number, num_records):
    return ShardInfo(
        split=split,
        shard=number,
        file=f"{split}{number}",
        num_records=num_records,
        num_bytes=10,
        sha256="",
        temporary={},
    )


ALL = (shard("train", 0, 6), shard("train", 1, 4), shard("test", 0, 2))


def test_all_is_there():
    check_counts(PLAN, ALL, num_rejected=3, num_read=15)


@pytest.mark.parametrize(
    ("shards", "num_rejected", "num_read"),
    [
        pytest.param(ALL, 3, 16, id="a record was lost before the shards"),
        pytest.param(ALL, 2, 15, id="a reject was lost"),
        pytest.param((*ALL[:2], shard("test", 0, 1)), 3, 15, id="a record was lost on its way"),
        pytest.param((*ALL[:2], shard("test", 0, 3)), 3, 15, id="a record came twice"),
        pytest.param(ALL[:2], 5, 15, id="a shard was lost"),
        pytest.param((*ALL, ALL[2]), 1, 15, id="a shard came twice"),
        pytest.param(
            (shard("train", 0, 5), ALL[1], shard("test", 0, 3)), 3, 15, id="one lost, another twice"
        ),
    ],
)
def test_what_does_not_add_up(shards, num_rejected, num_read):
    with pytest.raises(
        CountMismatchError, match=f"{num_read} records were read, but .*nothing was"
    ):
        check_counts(PLAN, shards, num_rejected, num_read)
