"""Images of 16 bits keep them, from files to every reader."""

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from file_bytes import png_chunk
from PIL import Image
from tiers import first_quick

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.cli import commands

# TFDS 4.9 calls what protobuf 6 warns of.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

HEIGHT, WIDTH, COUNT = 8, 12, 4
COLOR_TYPES = {1: 0, 3: 2, 4: 6}


def pixels(number, channels):
    """uint16, whose lower bytes matter."""
    values = np.arange(HEIGHT * WIDTH * channels).reshape(HEIGHT, WIDTH, channels)
    return (values * 331 + number * 16_001).astype(np.uint16)


def png(values):
    """Pillow writes no colours of 16 bits. Rows are as they are, or differences to those above."""
    height, width, channels = values.shape
    header = struct.pack(">IIBBBBB", width, height, 16, COLOR_TYPES[channels], 0, 0, 0)
    rows = values.astype(">u2").view(np.uint8).reshape(height, -1)
    above = np.concatenate([rows[:1] * 0, rows[:-1]])
    lines = [
        b"\2" + (row - before).tobytes() if number % 2 else b"\0" + row.tobytes()
        for number, (row, before) in enumerate(zip(rows, above, strict=True))
    ]
    data = png_chunk(b"IDAT", zlib.compress(b"".join(lines)))
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + data + png_chunk(b"IEND", b"")


CHANNELS = [pytest.param(3, id="RGB"), pytest.param(1, id="grey"), pytest.param(4, id="RGBA")]


@pytest.fixture(scope="module", params=first_quick(CHANNELS))
def dataset(request, tmp_path_factory):
    """(the dataset, what its images are by number: uint16 [height, width, 3])."""
    folder = tmp_path_factory.mktemp("deep")
    for number in range(COUNT):
        path = folder / "in" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(pixels(number, request.param)))
    config = beam_pipeline.BuildConfig(input=str(folder / "in"), output=str(folder / "data"))
    expected = [
        np.broadcast_to(pixels(number, request.param)[..., :3], (HEIGHT, WIDTH, 3))
        for number in range(COUNT)
    ]
    return beam_pipeline.build(config), expected


def test_metadata_and_tfds_state_16_bits(dataset):
    info, _ = dataset
    assert info.schema[0].dtype == "uint16"
    features = json.loads(Path(info.path, "features.json").read_text())
    leaf = features["featuresDict"]["features"]["image/encoded"]["image"]
    assert (leaf["dtype"], leaf["encodingFormat"]) == ("uint16", "png")


def test_every_reader_gets_their_numbers(dataset, readers_agree):
    info, expected = dataset
    readers_agree(info)
    records = [each["image"] for each in tfrecord_dataset.open(info.path)["train"]]
    [batch] = trainer.open(info.path).batches("train", shuffle=False, batch_size=4)
    for record, fraction in zip(records, batch["image"].numpy(), strict=True):
        assert record.dtype == np.uint16
        assert any((record == each).all() for each in expected)
        np.testing.assert_allclose(fraction * 65_535, record, atol=0.01)


@pytest.mark.slow
def test_views_keep_them(dataset):
    info, expected = dataset
    batches = trainer.open(info.path).batches(
        "train",
        shuffle=False,
        batch_size=4,
        image_size=(HEIGHT * 2, WIDTH * 2),
        views=trainer.Views(area=(0.5, 2.0), mirror=True),
        image_dtype="uint8",
    )
    images = next(iter(batches))["image"].numpy()
    assert images.dtype == np.uint16
    assert np.unique(images % 256).size > 100
    assert images.max() <= max(each.max() for each in expected)


@pytest.mark.slow
def test_a_tiff_keeps_them_and_a_jpeg_takes_them_away(tmp_path, capsys):
    for number in range(2):
        path = tmp_path / "in" / "ab"[number] / f"{number}.tif"
        path.parent.mkdir(parents=True)
        Image.fromarray(pixels(number, 1)[..., 0]).save(path)
    config = beam_pipeline.BuildConfig(input=str(tmp_path / "in"), output=str(tmp_path / "data"))
    info = beam_pipeline.build(config)
    assert info.schema[0].dtype == "uint16"
    records = tfrecord_dataset.open(info.path)["train"]
    assert {int(each["image"][0, 0, 0]) for each in records} == {0, 16_001}

    Image.new("RGB", (WIDTH, HEIGHT)).save(tmp_path / "in/a/2.jpg")
    assert commands.main(["plan", str(tmp_path / "in")]) == 0
    shown = "".join(capsys.readouterr())
    assert "2 images with 16 bits, of which readers take the upper 8" in shown
