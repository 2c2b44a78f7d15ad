"""Files that Hugging Face's `datasets` writes become datasets with the same values."""

import io

import numpy as np
import pytest
from file_bytes import image_bytes
from PIL import Image

import tfrecord_dataset
from beam_pipeline.config import BuildConfig
from beam_pipeline.pipeline import build

pytestmark = pytest.mark.readers

CLASSES = ["zebra", "ant"]


def as_parquet(dataset, folder):
    (folder / "data").mkdir(parents=True)
    dataset.to_parquet(folder / "data/train-00000-of-00001.parquet", batch_size=4)


def to_disk(dataset, folder):
    import datasets

    datasets.DatasetDict({"train": dataset}).save_to_disk(folder)


@pytest.fixture(params=[as_parquet, to_disk])
def save(request):
    """Writes a `datasets.Dataset` in one of the two forms, below a folder."""
    return request.param


@pytest.fixture
def written(tmp_path, monkeypatch, save):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    import datasets

    def write(features, columns):
        folder = tmp_path / "input"
        save(datasets.Dataset.from_dict(columns, datasets.Features(features(datasets))), folder)
        info = build(BuildConfig(input=str(folder), output=str(tmp_path / "data"), name="t"))
        assert [*info.splits] == ["train"]
        split = tfrecord_dataset.open(info.path)["train"]
        return info, [split[number] for number in range(len(split))]

    return write


def png(seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)
    return {"bytes": image_bytes(pixels), "path": f"{seed}.png"}


def pixels_of(file):
    return np.asarray(Image.open(io.BytesIO(file["bytes"])))


def test_images_and_classes(written):
    files = [png(seed) for seed in range(10)]
    info, records = written(
        lambda hub: {"image": hub.Image(), "label": hub.ClassLabel(names=CLASSES)},
        {"image": files, "label": [n % 2 for n in range(10)]},
    )

    assert list(info.classes) == CLASSES
    found = {record["image"].tobytes(): int(record["label"]) for record in records}
    assert found == {pixels_of(file).tobytes(): n % 2 for n, file in enumerate(files)}


def test_boxes(written):
    objects = [
        {"bbox": [[1.0, 2.0, 8.0, 4.0], [0.0, 0.0, 16.0, 12.0]], "category": [1, 0]},
        {"bbox": [], "category": []},
    ]
    info, records = written(
        lambda hub: {
            "image": hub.Image(),
            "objects": hub.Sequence(
                {
                    "bbox": hub.Sequence(hub.Value("float32"), length=4),
                    "category": hub.ClassLabel(names=CLASSES),
                }
            ),
        },
        {"image": [png(1), png(2)], "objects": objects},
    )

    assert list(info.classes) == CLASSES
    (some,) = (record for record in records if len(record["boxes"]))
    np.testing.assert_allclose(
        some["boxes"], [[1 / 16, 2 / 12, 9 / 16, 6 / 12], [0, 0, 1, 1]], atol=1e-6
    )
    assert some["box_labels"].tolist() == [1, 0]


def test_arrays_numbers_and_texts(written):
    _, records = written(
        lambda hub: {
            "matrix": hub.Array2D((2, 3), "float32"),
            "ids": hub.Sequence(hub.Value("int64")),
            "text": hub.Value("string"),
            "score": hub.Value("float32"),
            "label": hub.ClassLabel(names=CLASSES),
        },
        {
            "matrix": [np.full((2, 3), n) for n in range(4)],
            "ids": [[n] * 3 for n in range(4)],
            "text": [f"text {n}" for n in range(4)],
            "score": [n / 4 for n in range(4)],
            "label": [0, 1, 0, 1],
        },
    )

    for record in records:
        n = int(record["ids"][0])
        assert record["matrix"].shape == (2, 3)
        assert set(record["matrix"].ravel().tolist()) == {n}
        assert (record["text"].decode(), float(record["score"])) == (f"text {n}", n / 4)
        assert int(record["label"]) == n % 2
