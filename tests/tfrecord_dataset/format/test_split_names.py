"""Splits and numbers of shards in the names of folders and files."""

import pytest

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format.split_names import check_all_shards, splits_of_record_files

# File names, and the split that each states.
NAMES = """
a-train.tfrecord-00000-of-00002 a-unsupervised.tfrecord-00000-of-00001 -> train unsupervised
a-train.tfrecord-00000-of-00002.gz -> train
x-test.tfrecord-00000-of-00001 b.tfrecord -> None None
my-cells-test.tfrecord-00000-of-00001.gz -> test
train-00000-of-00002 train-00001-of-00002 validation-00000-of-00001 -> train train validation
train_1.tfrecord test_1.tfrecord -> train test
val.tfrecord Test.tfrecord.gz -> val Test
nsynth-train.tfrecord nsynth-valid.tfrecord -> train valid
coco_train.record-00000-of-00100 coco_val.record-0-of-1 -> train val
a/train/a.tfrec a/valid/b.tfrec -> train valid
train00-16.tfrec test00-16.tfrec -> train test
trainval.tfrecord minival.tfrecord -> trainval minival
train.tfrecord more.tfrecord -> None None
data_1.tfrecord data_2.tfrecord -> None None
trainer.tfrecord tests.tfrecord -> None None
"""


@pytest.mark.parametrize("row", NAMES.strip().splitlines())
def test_splits(row):
    names, splits = row.split(" -> ")
    assert list(map(str, splits_of_record_files(names.split()))) == splits.split()


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
