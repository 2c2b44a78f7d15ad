"""The model from images to the logits of all pixels."""

import keras
import numpy as np
import pytest

from trainer.errors import ConfigError
from trainer.tasks.inputs import Image
from trainer.tasks.segmentation import segmenter


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        pytest.param("small", 3, id="small"),
        pytest.param("small", 1, id="one channel"),
        *(
            pytest.param(name, 3, id=name, marks=pytest.mark.slow)
            for name in ("MobileNetV2", "ResNet50", "EfficientNetB0", "ConvNeXtTiny", "VGG16")
        ),
    ],
)
def test_logits_are_those_of_every_pixel(name, channels):
    model = segmenter(Image(name="x", height=64, width=96, channels=channels, model=name), 5)

    logits = model(np.random.default_rng(0).random((2, 64, 96, channels), np.float32))

    assert (logits.shape, logits.dtype) == ((2, 64, 96, 5), "float32")
    assert np.isfinite(logits).all()


@pytest.mark.slow
def test_logits_are_float32_under_mixed_precision(bfloat16):
    model = segmenter(Image(name="x", height=32, width=32, channels=3), 2)

    assert model.outputs[0].dtype == "float32"


def test_a_pixel_changes_what_is_said_of_its_surroundings():
    """At a new model's logits: those far away change less than those at the pixel."""
    keras.utils.set_random_seed(8)
    model = segmenter(Image(name="x", height=128, width=128, channels=3), 2)
    image = np.zeros((1, 128, 128, 3), np.float32)
    changed = image.copy()
    changed[0, 20:24, 100:104] = 1.0

    difference = np.abs(model(changed) - model(image)).max(axis=-1)[0]

    assert difference[16:28, 96:108].mean() > 5 * difference[100:, :30].mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": (75, 100)}, "--image-size 100x75 is not a multiple of 32.*96x64"),
        ({"image_size": 64, "weights": "w.h5"}, "--weights is for models of keras.app"),
        ({"image_size": 96, "model": "Xception"}, "--model Xception has no feature map of"),
    ],
)
def test_what_cannot_be_built_is_refused(choose, options, message):
    task, _ = choose("image map", **options)
    with pytest.raises(ConfigError, match=message):
        task.model("small")
