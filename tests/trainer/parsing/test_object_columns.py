"""A new column of objects needs only a row in the table that all readers use."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_examples import write_examples

import trainer
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.feature_keys import (
    GEOMETRY,
    SIDES,
    ObjectColumn,
    is_reserved_subkey,
    list_specs,
)
from tfrecord_dataset.values import numpy_values

DECLARED = {"boxes": {"kind": "boxes", "key": "o", "geometry": ["cuboid", "note"], "bare": True}}


@pytest.fixture(autouse=True)
def further_columns(monkeypatch):
    parts = {"cuboid/depth": "float32", "cuboid/length": "float32"}
    monkeypatch.setitem(GEOMETRY, "cuboid", ObjectColumn("cuboids", parts, "numbers"))
    monkeypatch.setitem(GEOMETRY, "note", ObjectColumn("notes", {"note": "bytes"}, moves=False))


@pytest.fixture
def path(tmp_path):
    sides = {f"o/bbox/{side}": [0.0, 0.5] for side in SIDES}
    further = {"o/cuboid/depth": [1.0, 2.0], "o/cuboid/length": [3.0, 4.0], "o/note": [b"a", b"b"]}
    write_examples(tmp_path / "a", [sides | further])
    return tmp_path / "a"


def test_every_reader_has_a_further_column(path):
    (feature,) = features_from_json(DECLARED).values()
    (frame,) = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    record = numpy_values(feature, lists(frame))
    (batch,) = trainer.open(path, features=DECLARED).batches(batch_size=1)

    further = ["o/cuboid/depth", "o/cuboid/length", "o/note"]
    assert [*list_specs(feature)][4:] == further
    assert record.keys() == batch.keys() == {"boxes", "cuboids", "notes"}
    np.testing.assert_array_equal(record["cuboids"], [[1, 3], [2, 4]])
    assert [*record["notes"]] == [b"a", b"b"]
    np.testing.assert_array_equal(batch["cuboids"], [record["cuboids"]])
    assert batch["notes"].dtype == tf.string


def test_no_attribute_takes_the_place_of_a_column():
    taken = ("mask", "polygon", "rotated/cx", "rotated/of", "bbox/x", "class/text", "keypoint/x")
    free = ("rotated", "class", "bbox", "area", "masks", "my/area", "")

    assert all(map(is_reserved_subkey, taken))
    assert not any(map(is_reserved_subkey, free))
