"""RetinaNet with the weights of a preset, written and read by keras_hub."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
from testdata.make_golden import GOLDEN

from trainer.errors import ConfigError
from trainer.tasks import image_models

pytestmark = pytest.mark.readers

SCALE, OFFSET = [0.017, 0.018, 0.019], [-2.1, -2.0, -1.8]


def write_preset(folder, *, batch_norm):
    """Write a preset of a small encoder with random weights, and return the backbone."""
    hub = pytest.importorskip("keras_hub", exc_type=ImportError)
    encoder = hub.models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=[64, 64, 64, 64],
        stackwise_num_blocks=[1, 1, 1, 1],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="basic_block",
        image_shape=(None, None, 3),
    )
    backbone = hub.models.RetinaNetBackbone(
        image_encoder=encoder,
        min_level=3,
        max_level=7,
        use_p5=False,
        use_fpn_batch_norm=batch_norm,
        image_shape=(None, None, 3),
    )
    random = np.random.default_rng(7)
    backbone.set_weights(
        [random.uniform(0.0, 0.1, weight.shape) for weight in backbone.get_weights()]
    )
    backbone.save_to_preset(str(folder))
    hub.layers.RetinaNetImageConverter(
        image_size=(64, 64), scale=SCALE, offset=OFFSET, crop_to_aspect_ratio=False
    ).save_to_preset(str(folder))
    return backbone


@pytest.mark.parametrize("batch_norm", [False, True])
def test_its_maps_are_those_of_keras_hub(tmp_path, batch_norm):
    backbone = write_preset(tmp_path / "preset", batch_norm=batch_norm)
    image = keras.Input((64, 96, 3))
    strides = (8, 16, 32)
    levels = image_models.pyramid("RetinaNet", image, strides, str(tmp_path / "preset"))
    pixels = np.random.default_rng(1).uniform(size=(2, 64, 96, 3)).astype("float32")

    expected = backbone(pixels * 255 * np.float32(SCALE) + np.float32(OFFSET))
    found = keras.Model(image, levels)(pixels)
    for level, values in zip(("P3", "P4", "P5"), found, strict=True):
        np.testing.assert_allclose(values, expected[level], rtol=1e-3, atol=1e-4)


def test_a_detector_learns_from_them_and_is_read_without_keras_hub(tmp_path):
    write_preset(tmp_path / "preset", batch_norm=False)
    words = [
        *("train", "--data", GOLDEN, "--output", tmp_path / "run", "--target", "boxes"),
        *("--model", "RetinaNet", "--weights", tmp_path / "preset", "--head-epochs", "1"),
        *("--epochs", "2", "--image-size", "64", "--batch-size", "4", "--quiet"),
    ]
    row = json.loads(run(words).splitlines()[-1])
    assert np.isfinite(row["loss"])
    found = tmp_path / "found.jsonl"
    predict = ["predict", GOLDEN, "--run", tmp_path / "run", "--output", found, "--quiet"]
    without = "import sys; sys.modules['keras_hub'] = None; from trainer.commands import main; "
    run(predict, "-c", f"{without}sys.exit(main())")
    assert found.read_text()


def run(words, *start):
    command = [sys.executable, *(start or ("-m", "trainer")), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("model", "channels", "weights", "message"),
    [
        ("RetinaNet", 3, None, "give --weights coco, or the folder"),
        ("RetinaNet", 3, "nowhere", "'nowhere' cannot be read as keras_hub's RetinaNet"),
        ("RetinaNet", 1, "coco", "3 channels, but these have 1"),
        ("ResNet50", 3, "coco", "those of --model RetinaNet, but the model is ResNet50"),
    ],
)
def test_what_cannot_be_is_refused(model, channels, weights, message):
    pytest.importorskip("keras_hub", exc_type=ImportError)
    with pytest.raises(ConfigError, match=message):
        image_models.pyramid(model, keras.Input((64, 64, channels)), (8, 16, 32), weights)


def test_it_is_for_boxes():
    with pytest.raises(ConfigError, match="--model RetinaNet is for boxes"):
        image_models.encode("RetinaNet", keras.Input((64, 64, 3)), None)
