"""Images with maps of classes and of depths: built, verified, and read by every reader."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiers import first_quick

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.cli import commands
from beam_pipeline.errors import ConfigError

# TFDS 4.9 calls what protobuf 6 warns of.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

HEIGHT, WIDTH = 24, 32
CLASSES = ("ground", "road", "car")
DEPTH_SCALE = 0.001


def pixels(number):
    """An image of which each pixel tells its place."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([rows * 10, columns * 7, rows * 0 + number * 40], axis=-1).astype(np.uint8)


def classes(number):
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    numbers = (rows // 8 + columns // 8 + number) % 3
    return np.where(rows == columns, 255, numbers).astype(np.uint8)


def depths(number):
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    return (rows * 2000 + columns * 3 + number).astype(np.uint16)


def with_palette(numbers):
    image = Image.fromarray(numbers)
    image.putpalette([each * 37 % 256 for each in range(768)])
    return image


def written(root, home, make):
    for split, numbers in (("train", (0, 1, 2)), ("val", (3, 4))):
        for number in numbers:
            for place, image in (("images", Image.fromarray(pixels(number))), (home, make(number))):
                path = root / place / split / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                image.save(path)
    return root


def built(root, folder, **options):
    config = beam_pipeline.BuildConfig(input=str(root), output=str(folder), **options)
    return beam_pipeline.build(config)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """dataset("segmentation" or "depth") -> the dataset, and its maps by number."""
    folder = tmp_path_factory.mktemp("maps")
    root = written(folder / "seg", "masks", lambda each: with_palette(classes(each)))
    (root / "classes.txt").write_text("\n".join(CLASSES))
    made = {
        "segmentation": (built(root, folder / "data"), classes),
        "depth": (
            built(
                written(folder / "far", "depth", lambda each: Image.fromarray(depths(each))),
                folder / "data",
                image=beam_pipeline.ImageOptions(depth_scale=DEPTH_SCALE),
            ),
            depths,
        ),
    }
    return made.__getitem__


kinds = pytest.mark.parametrize("name", ["segmentation", "depth"])


@kinds
def test_metadata_states_classes_unit_and_scale(dataset, name):
    info, _ = dataset(name)
    metadata = json.loads(Path(info.path, "metadata.json").read_text())
    [feature] = [each for each in metadata["features"] if each["kind"] == "map"]
    of_kind = {
        "segmentation": {
            "dtype": "uint8",
            "key": "image/segmentation/class/encoded",
            "classes": list(CLASSES),
        },
        "depth": {
            "dtype": "uint16",
            "key": "image/depth/encoded",
            "unit": "m",
            "scale": DEPTH_SCALE,
        },
    }
    shape = [HEIGHT, WIDTH, 1]
    common = {"name": name, "kind": "map", "shape": shape, "format": "png"}
    assert feature == common | of_kind[name]


@kinds
def test_numbers_arrive_in_every_reader(dataset, readers_agree, name):
    info, numbers = dataset(name)
    readers_agree(info)
    opened = tfrecord_dataset.open(info.path)
    for split in ("train", "val"):
        for record in opened[split]:
            number = int(record["image"][0, 0, 2]) // 40
            np.testing.assert_array_equal(record[name][..., 0], numbers(number))
            assert record[name].dtype == numbers(number).dtype


@kinds
@pytest.mark.parametrize("views", first_quick([trainer.Views(mirror=True, area=(0.4, 1.0)), None]))
def test_the_trainer_sees_maps_with_their_images(dataset, name, views):
    info, numbers = dataset(name)
    opened = trainer.open(info.path)
    size = (HEIGHT, WIDTH)
    batches = opened.batches(
        "train", batch_size=3, shuffle=False, image_size=size, views=views, image_dtype="uint8"
    )
    batch = next(iter(batches))
    images, maps = batch["image"].numpy(), batch[name].numpy()
    assert maps.dtype == numbers(0).dtype
    assert maps.shape == (3, HEIGHT, WIDTH, 1)
    for image, seen in zip(images, maps, strict=True):
        number = round(int(image[0, 0, 2]) / 40)
        rows = np.round(image[..., 0] / 10).astype(int).clip(0, HEIGHT - 1)
        columns = np.round(image[..., 1] / 7).astype(int).clip(0, WIDTH - 1)
        if views is None:
            np.testing.assert_array_equal(seen[..., 0], numbers(number))
        # The pixel that the image shows, or one beside it.
        around = [
            numbers(number)[(rows + down).clip(0, HEIGHT - 1), (columns + right).clip(0, WIDTH - 1)]
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
        ]
        assert (np.stack(around) == seen[..., 0]).any(axis=0).mean() > 0.95


def test_maps_are_drawn_over_images(dataset, tmp_path):
    info, _ = dataset("segmentation")
    assert commands.main(["show", info.path, "--limit", "1", "--images", str(tmp_path)]) == 0
    drawn = [np.asarray(Image.open(path), int) for path in sorted(tmp_path.glob("train*.jpg"))]
    assert len(drawn) == 1
    assert np.abs(drawn[0] - drawn[0].mean(axis=(0, 1))).max() > 60


def test_a_scale_without_depths_is_refused(tmp_path):
    root = written(tmp_path / "in", "masks", lambda each: Image.fromarray(classes(each)))
    with pytest.raises(ConfigError, match=r"depth_scale 0\.5: the data has no depth maps"):
        built(root, tmp_path / "out", image=beam_pipeline.ImageOptions(depth_scale=0.5))
