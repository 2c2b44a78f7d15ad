"""The splits that the names of TFRecord files state."""

import pytest

from tfrecord_dataset.split_names import splits_of_record_files


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        pytest.param(
            "a-train.tfrecord-00000-of-00002 a-unsupervised.tfrecord-00000-of-00001",
            ["train", "unsupervised"],
            id="TFDS states any split",
        ),
        pytest.param("a-train.tfrecord-00000-of-00002.gz", ["train"], id="the same, compressed"),
        pytest.param("x-test.tfrecord-00000-of-00001 b.tfrecord", [None] * 2, id="not all TFDS's"),
        pytest.param("my-cells-test.tfrecord-00000-of-00001.gz", ["test"], id="a name with dashes"),
        pytest.param(
            "train-00000-of-00002 train-00001-of-00002 validation-00000-of-00001",
            ["train", "train", "validation"],
            id="split first",
        ),
        pytest.param("train_1.tfrecord test_1.tfrecord", ["train", "test"], id="with numbers"),
        pytest.param("val.tfrecord Test.tfrecord.gz", ["val", "Test"], id="as written"),
        pytest.param(
            "nsynth-train.tfrecord nsynth-valid.tfrecord",
            ["train", "valid"],
            id="a word of the name",
        ),
        pytest.param(
            "coco_train.record-00000-of-00100 coco_val.record-0-of-1", ["train", "val"], id="OD API"
        ),
        pytest.param("a/train/a.tfrec a/valid/b.tfrec", ["train", "valid"], id="folders"),
        pytest.param("train00-16.tfrec test00-16.tfrec", ["train", "test"], id="Kaggle"),
        pytest.param("trainval.tfrecord minival.tfrecord", ["trainval", "minival"], id="of COCO"),
        pytest.param("train.tfrecord more.tfrecord", [None, None], id="not all state one"),
        pytest.param("data_1.tfrecord data_2.tfrecord", [None, None], id="none states one"),
        pytest.param("trainer.tfrecord tests.tfrecord", [None, None], id="other words"),
    ],
)
def test_splits(names, splits):
    assert splits_of_record_files(names.split()) == splits
