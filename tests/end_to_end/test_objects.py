"""Masks, polygons and keypoints of COCO, from its file to every reader."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.dataset.reading import read_examples
from beam_pipeline.kinds.objects import MASK_NOT_KEPT
from trainer.views import Views

KEYPOINTS = ["nose", "left_eye", "right_eye"]
POLYGONS = [[3, 4, 40, 6, 30.5, 28], [45, 5, 60, 5, 60, 20, 45, 20]]


def annotations():
    """Of four images: polygons, run lengths, keypoints, a box alone, and nothing."""
    crowd = [24 * 48, *[10, 38] * 10, 48 * 64 - 24 * 48 - 48 * 10]
    return [
        {"image_id": 1, "bbox": [3, 4, 57, 24], "segmentation": POLYGONS, "iscrowd": 0},
        {"image_id": 1, "bbox": [24, 0, 10, 10], "iscrowd": 1}
        | {"segmentation": {"size": [48, 64], "counts": crowd}},
        {"image_id": 2, "bbox": [3, 4, 50, 24], "segmentation": POLYGONS[:1], "iscrowd": 0}
        | {"keypoints": [10, 10, 2, 20, 12, 2, 30, 12, 1], "num_keypoints": 3},
        {"image_id": 3, "bbox": [3, 4, 20, 24], "iscrowd": 0},
    ]


@pytest.fixture(scope="module")
def coco(tmp_path_factory, write_image):
    folder = tmp_path_factory.mktemp("coco")
    for number in range(1, 5):
        write_image(folder / f"{number}.jpg", seed=number, size=(64, 48))
    content = {
        "images": [
            {"id": number, "file_name": f"{number}.jpg", "width": 64, "height": 48}
            for number in range(1, 5)
        ],
        "annotations": [
            {"id": number, "category_id": 7, **each} for number, each in enumerate(annotations())
        ],
        "categories": [{"id": 7, "name": "person", "keypoints": KEYPOINTS}],
    }
    file = folder / "annotations.json"
    file.write_text(json.dumps(content))
    return file


@pytest.fixture(scope="module")
def info(coco, tmp_path_factory):
    config = beam_pipeline.BuildConfig(
        input=str(coco), output=str(tmp_path_factory.mktemp("built")), name="people", masks=True
    )
    return beam_pipeline.build(config)


@pytest.fixture(scope="module")
def records(info):
    """As NumPy, by COCO's id."""
    ids = [int(each["image/source_id"][0]) for each in read_examples(info, "train")]
    return dict(zip(ids, tfrecord_dataset.open(info.path)["train"], strict=True))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_masks_are_those_of_pycocotools(coco, records, capsys):
    from pycocotools.coco import COCO

    theirs = COCO(str(coco))
    capsys.readouterr()
    for image, record in records.items():
        found = theirs.loadAnns(theirs.getAnnIds(imgIds=[image]))
        assert len(found) == len(record["masks"])
        for annotation, mask in zip(found, record["masks"], strict=True):
            if "segmentation" in annotation:
                np.testing.assert_array_equal(mask, theirs.annToMask(annotation))
            else:
                assert mask.shape == (48, 64)
                assert not mask.any()


@pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")
def test_polygons_and_keypoints(info, records, readers_agree):
    readers_agree(info)
    (feature,) = [each for each in info.schema if each.name == "boxes"]
    assert feature.geometry == ("mask", "polygon")
    assert feature.keypoint_names == tuple(KEYPOINTS)
    assert feature.keypoint_flips == (0, 2, 1)

    rings = [np.reshape(ring, (-1, 2)) * [64, 48] for ring in json.loads(records[1]["polygons"][0])]
    for found, stated in zip(rings, POLYGONS, strict=True):
        np.testing.assert_allclose(found.ravel(), stated, atol=1e-4)
    assert records[1]["polygons"][1] == records[3]["polygons"][0] == b"[]"
    points = records[2]["keypoints"][0] * [64, 48, 1]
    np.testing.assert_allclose(points, [(10, 10, 2), (20, 12, 2), (30, 12, 1)], atol=1e-4)
    assert (records[3]["keypoints"] <= 0).all()


@pytest.mark.slow
def test_batches_of_views(info):
    opened = trainer.open(info.path)
    views = Views(area=(0.4, 0.9), mirror=True)
    (batch,) = opened.batches(batch_size=4, image_size=(24, 32), views=views, seed=1)
    assert batch["masks"].shape == (4, *batch["boxes"].shape[1:2], 24, 32)
    assert batch["masks"].dtype == tf.uint8
    assert "polygons" not in batch
    (batch,) = opened.batches(batch_size=4, image_size=(24, 32), masks=False)
    assert "masks" not in batch


def test_the_keys_of_model_gardens_decoder_hold_them(info, records):
    """Those of TfExampleDecoder(include_mask=True), parsed and decoded as it does."""
    number, text = tf.io.FixedLenFeature((), tf.int64), tf.io.FixedLenFeature((), tf.string)
    sides = [f"image/object/bbox/{side}" for side in ("ymin", "xmin", "ymax", "xmax")]
    features = {
        **dict.fromkeys(("image/encoded", "image/source_id"), text),
        **dict.fromkeys(("image/height", "image/width"), number),
        **dict.fromkeys((*sides, "image/object/area"), tf.io.VarLenFeature(tf.float32)),
        "image/object/class/label": tf.io.VarLenFeature(tf.int64),
        "image/object/is_crowd": tf.io.VarLenFeature(tf.int64),
        "image/object/mask": tf.io.VarLenFeature(tf.string),
    }
    files = [f"{info.path}/{shard.file}" for shard in info.splits["train"]]
    seen = [tf.io.parse_single_example(each, features) for each in tf.data.TFRecordDataset(files)]
    assert len(seen) == 4
    for each in seen:
        record = records[int(each["image/source_id"])]
        masks = [
            tf.io.decode_png(mask, channels=1)[..., 0].numpy()
            for mask in each["image/object/mask"].values
        ]
        np.testing.assert_array_equal(np.reshape(masks, record["masks"].shape), record["masks"])
        boxes = np.stack([each[side].values for side in sides], axis=-1)
        np.testing.assert_array_equal(boxes[:, [1, 0, 3, 2]], record["boxes"])
        labels = each["image/object/class/label"].values.numpy()
        assert (labels - 1 == record["box_labels"]).all()


def test_masks_are_stored_only_where_they_are_asked_for(coco, tmp_path):
    config = beam_pipeline.BuildConfig(input=str(coco), output=str(tmp_path), name="people")
    info = beam_pipeline.build(config)
    assert info.features["boxes"].geometry == ("polygon",)
    assert json.loads(Path(info.path, "metadata.json").read_text())["changes"] == {MASK_NOT_KEPT: 1}
    assert config.fingerprint != dataclasses.replace(config, masks=True).fingerprint
