"""Every reader that the format supports reads a dataset with its own code."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from end_to_end.building import build
from PIL import ExifTags, Image

import beam_pipeline
import trainer
from beam_pipeline.dataset.shards import read_examples

# TFDS 4.9 calls functions deprecated in protobuf 6.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

# A white image with one black rectangle, surrounded by the box.
SIZE = (64, 48)
BOX = (16, 8, 40, 24)
AREAS = [48, 56.5, 64, 72, 80, 88, 96, 104]


@pytest.fixture(scope="module")
def zoo(tmp_path_factory, write_image):
    """A dataset from COCO: 12 images, 8 of them with boxes of fractional areas."""
    root = tmp_path_factory.mktemp("coco")
    size = {"width": 40, "height": 30}
    images = [{"id": n, "file_name": f"images/{n}.jpg", **size} for n in range(12)]
    for image in images:
        write_image(root / image["file_name"], seed=image["id"], size=(40, 30))
    boxes = [
        {
            "id": n,
            "image_id": n,
            "category_id": 3 + n % 2 * 4,
            "bbox": [4, 3, 8, 6 + n],
            "area": area,
        }
        for n, area in enumerate(AREAS)
    ]
    categories = [{"id": 7, "name": "ant"}, {"id": 3, "name": "bee"}]
    content = {"images": images, "categories": categories, "annotations": boxes}
    (root / "instances.json").write_text(json.dumps(content))
    return build(root / "instances.json", root / "data", name="zoo2")


@pytest.fixture(scope="module")
def tfds():
    import tensorflow_datasets

    return tensorflow_datasets


def names_of(info, split):
    return [example["image/filename"][0] for example in read_examples(info, split)]


def test_tfds_reads_labels_and_slices(tfds, labelled):
    builder = tfds.builder_from_directory(labelled.path)
    feature = builder.info.features["image/class/label"]
    assert feature.names == ["cat", "dog"]
    assert builder.info.splits["train"].num_examples == labelled.num_records("train")

    seen = list(tfds.as_numpy(builder.as_dataset(split="train", shuffle_files=False)))
    assert [each["image/filename"] for each in seen] == names_of(labelled, "train")
    for each in seen:
        folder = each["image/filename"].decode().partition("/")[0]
        assert feature.int2str(int(each["image/class/label"])) == folder
        assert each["image/class/text"].decode() == folder
        assert each["image/encoded"].shape == (9, 12, 3)

    half = tfds.load("pets", data_dir=str(Path(labelled.path).parents[1]), split="train[:50%]")
    assert len(half) == round(labelled.num_records("train") / 2)


@pytest.mark.parametrize("name", ["boxed", "zoo"])
def test_boxes_are_the_same_in_every_reader(tfds, name, request, readers_agree):
    info = request.getfixturevalue(name)
    readers_agree(info)
    labels = tfds.builder_from_directory(info.path).info.features["image/object/class/label"]
    assert labels.feature.names == ["background", *info.classes]
    for example in read_examples(info, "train"):
        texts = [labels.feature.int2str(int(n)) for n in example["image/object/class/label"]]
        assert texts == [text.decode() for text in example["image/object/class/text"]]


def source_ids(info):
    """Convert ids as Model Garden's evaluation: process_source_id in its dataloaders/utils."""
    import tensorflow as tf

    texts = [
        example["image/source_id"][0]
        for split in info.splits
        for example in read_examples(info, split)
    ]
    return tf.strings.to_number(texts, tf.int64).numpy().tolist()


def test_numbers_count_on_from_chunk_to_chunk(tmp_path, monkeypatch, class_folders):
    monkeypatch.setattr("beam_pipeline.write.write_shards._CHUNK_RECORDS", 3)
    root = class_folders(tmp_path / "pets")
    assert source_ids(build(root, tmp_path / "data", num_shards=2)) == list(range(16))


def test_cocos_own_ids_and_areas_stay(zoo):
    assert sorted(source_ids(zoo)) == list(range(12))
    names = [name.decode() for name in names_of(zoo, "train")]
    assert names == [f"images/{number}.jpg" for number in source_ids(zoo)]
    assert names != sorted(names)
    areas = [
        area for example in read_examples(zoo, "train") for area in example["image/object/area"]
    ]
    assert sorted(areas) == AREAS


@pytest.fixture
def source(tmp_path, write_voc):
    """The rectangle in each of the eight orientations, annotated as displayed."""
    root = tmp_path / "cells"
    upright = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    upright[BOX[1] : BOX[3], BOX[0] : BOX[2]] = 0
    turned_back = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    for orientation, turn in turned_back.items():
        write_voc(root, str(orientation), [("black", *BOX)], size=SIZE)
        image = Image.fromarray(upright)
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        stored = image.transpose(turn) if turn is not None else image
        stored.save(root / f"JPEGImages/{orientation}.jpg", exif=exif, quality=95)
    return root


@pytest.mark.parametrize(
    ("options", "size", "form"),
    [
        pytest.param({}, (64, 48), "jpeg", id="kept", marks=pytest.mark.nightly),
        pytest.param({"max_side": 32}, (32, 24), "jpeg", id="shrunk"),
        pytest.param({"format": "bmp"}, (64, 48), "bmp", id="bmp"),
        pytest.param(
            {"size": (48, 32)}, (32, 48), "jpeg", id="stretched", marks=pytest.mark.nightly
        ),
        pytest.param({"format": "png"}, (64, 48), "png", id="png", marks=pytest.mark.nightly),
    ],
)
def test_boxes_fit_what_tensorflow_decodes(source, tmp_path, readers_agree, options, size, form):
    import tensorflow as tf

    info = build(source, tmp_path / "out", image=beam_pipeline.ImageOptions(**options))
    readers_agree(info)
    seen = 0
    for example in read_examples(info, "train"):
        image = tf.io.decode_image(example["image/encoded"][0], channels=3).numpy()
        height, width = example["image/height"][0], example["image/width"][0]
        assert (width, height) == size
        assert example["image/format"] == [form.encode()]
        assert Image.open(io.BytesIO(example["image/encoded"][0])).format == form.upper()

        xs = np.array([example[f"image/object/bbox/{side}"][0] for side in ("xmin", "xmax")])
        ys = np.array([example[f"image/object/bbox/{side}"][0] for side in ("ymin", "ymax")])
        dark = image.mean(axis=2) < 128
        (rows,) = dark.any(axis=1).nonzero()
        (columns,) = dark.any(axis=0).nonzero()
        # VOC counts pixels from 1: a tolerance of a pixel on every side.
        np.testing.assert_allclose(ys * height, [rows[0], rows[-1] + 1], atol=1.6)
        np.testing.assert_allclose(xs * width, [columns[0], columns[-1] + 1], atol=1.6)
        seen += 1
    assert seen == 8
    converted = info.metadata["changes"]
    assert converted["image converted: orientation"] == 7


def test_one_channel_is_made_of_the_three_of_a_bmp(tmp_path, class_folders):
    source = class_folders(tmp_path / "in", each=2)
    info = build(source, tmp_path / "out", image=beam_pipeline.ImageOptions(format="bmp"))
    grey = [{"name": "image", "kind": "image", "shape": [None, None, 1]}]
    shards = trainer.open(f"{info.path}/*train.tfrecord-*", grey)
    batches = shards.batches(batch_size=None, image_dtype="uint8", features=["image"])
    for image, example in zip(batches, read_examples(info, "train"), strict=True):
        pixels = np.asarray(Image.open(io.BytesIO(example["image/encoded"][0])))
        expected = pixels @ [0.299, 0.587, 0.114]
        np.testing.assert_allclose(image["image"][..., 0], expected, atol=1)
