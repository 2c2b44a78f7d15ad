"""Stored images and boxes agree when TensorFlow decodes them."""

import io

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
        pytest.param({}, (64, 48), "jpeg", id="kept", marks=pytest.mark.slow),
        pytest.param({"max_side": 32}, (32, 24), "jpeg", id="shrunk"),
        pytest.param({"format": "bmp"}, (64, 48), "bmp", id="bmp"),
        pytest.param({"size": (48, 32)}, (32, 48), "jpeg", id="stretched", marks=pytest.mark.slow),
        pytest.param({"format": "png"}, (64, 48), "png", id="png", marks=pytest.mark.slow),
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
