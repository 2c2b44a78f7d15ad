"""Boxes in batches, padded to the most per record.

A box is (xmin, ymin, xmax, ymax) in fractions of its image. Records with fewer boxes than the
batch has room for are padded: numbers of boxes, classes and attributes are -1.
"""

import numpy as np
import pytest

import trainer
from trainer.errors import DatasetDamagedError


@pytest.fixture(scope="module")
def boxed(tmp_path_factory, write_dataset, schema, png):
    """Three images with 2, 0 and 1 boxes, in one shard."""

    def record(boxes, labels):
        """Make an image and its boxes as stored by a build."""
        columns = [list(map(float, column)) for column in zip(*boxes, strict=True)] or [[]] * 4
        sides = zip(("xmin", "ymin", "xmax", "ymax"), columns, strict=True)
        return {
            "image/encoded": png(np.zeros((10, 12, 3))),
            **{f"image/object/bbox/{side}": column for side, column in sides},
            "image/object/class/label": labels,
            "image/object/difficult": [0] * len(labels),
            "image/object/area": [5.0] * len(labels),
        }

    records = [
        record([(0.1, 0.2, 0.3, 0.4), (0.5, 0.5, 1, 1)], [1, 2]),
        record([], []),
        record([(0, 0, 0.5, 0.5)], [2]),
    ]
    directory = tmp_path_factory.mktemp("boxed") / "1.0.0"
    features = [schema["image"], schema["boxes"]]
    return trainer.open(write_dataset(directory, features, {"train": records}, num_shards=1))


def test_padded_boxes(boxed):
    batch = next(iter(boxed.batches(batch_size=3, image_size=8)))

    assert set(batch) == {"image", "boxes", "box_labels", "box_difficult", "box_area"}
    assert batch["boxes"].shape == (3, 2, 4)
    np.testing.assert_allclose(
        batch["boxes"][2], [(0, 0, 0.5, 0.5), (-1, -1, -1, -1)], rtol=0, atol=1e-6
    )
    assert batch["box_labels"].numpy().tolist() == [[0, 1], [-1, -1], [1, -1]]
    assert batch["box_difficult"].numpy().tolist() == [[0, 0], [-1, -1], [0, -1]]
    assert batch["box_area"].numpy().tolist() == [[5, 5], [-1, -1], [5, -1]]


@pytest.mark.parametrize("labels", [[], [1], [1, 2, 1]])
def test_classes_that_are_not_one_for_each_box_are_an_error(
    tmp_path, write_dataset, schema, labels
):
    record = {f"image/object/bbox/{side}": [0.0, 0.5] for side in ("xmin", "ymin", "xmax", "ymax")}
    boxes = {**schema["boxes"], "attributes": {}}
    directory = write_dataset(
        tmp_path / "1.0.0", [boxes], {"train": [record | {"image/object/class/label": labels}]}
    )

    with pytest.raises(DatasetDamagedError, match=f"one class per box, but: {len(labels)}"):
        list(trainer.open(directory).numpy())
