"""Splits in the names of TFRecord files."""

import pytest

from tfrecord_dataset.format.split_names import splits_of_record_files

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
