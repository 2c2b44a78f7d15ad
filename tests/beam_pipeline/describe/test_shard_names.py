"""TFDS's template gives the names of other people's shards, or there is none."""

import pytest

from beam_pipeline.describe.tfds import template_of

tfds_naming = pytest.importorskip("tensorflow_datasets.core.naming")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a-train.tfrecord-00000-of-00001"], "a-train.tfrecord-{SHARD_X_OF_Y}"),
        (["train-00000-of-00002", "train-00001-of-00002"], "train-{SHARD_X_OF_Y}"),
        (["data_00000.tfrecord", "data_00001.tfrecord"], "data_{SHARD_INDEX}.tfrecord"),
        (["train/00000-of-00002.a", "train/00001-of-00002.a"], "train/{SHARD_X_OF_Y}.a"),
        (["train.tfrecord"], "train.tfrecord"),
    ],
)
def test_names_that_tfds_can_state(files, expected):
    template = template_of(files)

    assert template == expected
    naming = tfds_naming.ShardedFileTemplate(data_dir="", template=template)
    paths = naming.sharded_filepaths(num_shards=len(files))
    assert [str(path) for path in paths] == files


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(["data_0.tfrecord", "data_1.tfrecord"], id="without leading zeros"),
        pytest.param(["data_00001.tfrecord", "data_00002.tfrecord"], id="counted from 1"),
        pytest.param(["train-00000-of-00003", "train-00002-of-00003"], id="one is missing"),
        pytest.param(["a-00000-of-00002", "b-00001-of-00002"], id="of two names"),
        pytest.param(["{a}.tfrecord"], id="a brace"),
    ],
)
def test_names_that_it_cannot(files):
    assert template_of(files) == ""
