"""Every reader that the format supports reads a dataset with its own code."""

import json
from pathlib import Path

import pytest
from end_to_end.building import build

from beam_pipeline.dataset.shards import read_examples

# TFDS 4.9 calls functions deprecated in protobuf 6.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")


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
    monkeypatch.setattr("beam_pipeline.write.stage._CHUNK_RECORDS", 3)
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
