"""Shards missing from a numbering."""

import pytest

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format.shard_numbers import check_all_shards


def numbered(numbers, count, start="d/cells-train.tfrecord", end=""):
    return [f"{start}-{number:05d}-of-{count:05d}{end}" for number in numbers]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param([], id="none"),
        pytest.param(["train.tfrecord", "a-1-of-2"], id="without such numbers"),
        pytest.param(numbered(range(3), 3), id="all"),
        pytest.param(numbered(range(2), 2) + numbered([0], 1, "d/test"), id="two numberings"),
        pytest.param(numbered([0], 1) + numbered([0], 1, "e/cells"), id="two folders"),
        pytest.param(numbered(range(2), 2, end=".gz"), id="gzip"),
    ],
)
def test_whole_numberings(files):
    check_all_shards(files)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param(
            numbered([0, 2], 4),
            r"d/cells-train\.tfrecord-\*-of-00004 lacks 2 of 4 shards: 00001, 00003; copy them "
            r"there, or pass allow_missing_shards \(--allow-missing-shards\)",
            id="two",
        ),
        pytest.param(
            numbered([7], 99999),
            r"lacks 99998 of 99999 shards: 00000, 00001, 00002, 00003, 00004, …; copy",
            id="many",
        ),
        pytest.param(numbered([5, 6], 2), "lacks 2 of 2 shards: 00000, 00001;", id="beyond"),
        pytest.param(
            numbered([0], 2, end=".gz") + numbered([1], 2),
            "lacks 1 of 2 shards: 00000",
            id="another suffix",
        ),
    ],
)
def test_missing_shards_are_named(files, message):
    with pytest.raises(DatasetDamagedError, match=message):
        check_all_shards(files)
