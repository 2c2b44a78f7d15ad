"""Segmentation: the loss, and the model from images to the logits of all pixels."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.errors import ConfigError
from trainer.tasks.inputs import Image
from trainer.tasks.targets import MapTarget
from trainer.tasks.targets.maps import segmentation_loss, segmenter

GOAL = MapTarget(name="map", classes=("sky", "tree", "house"), height=4, width=6)
RANDOM = np.random.default_rng(1)
LABELS = RANDOM.integers(0, 3, (4, 4, 6)).astype(np.uint8)
LABELS[0, :2] = 255
LABELS[1] = 255
LABELS[2, LABELS[2] == 2] = 0
OUTPUTS = RANDOM.normal(size=(4, 4, 6, 3)).astype(np.float32)


def by_hand(labels, outputs, weights=(1, 1, 1)):
    """Compute the loss of one image, pixel by pixel."""
    exponents = np.exp(outputs.astype(np.float64))
    probabilities = exponents / exponents.sum(axis=-1, keepdims=True)
    pixels = [place for place in np.ndindex(labels.shape) if labels[place] != 255]
    if not pixels:
        return 0.0
    loss = -np.mean(
        [weights[labels[place]] * np.log(probabilities[place][labels[place]]) for place in pixels]
    )
    coefficients = []
    for number in {labels[place] for place in pixels}:
        of_class = [place for place in pixels if labels[place] == number]
        both = sum(probabilities[place][number] for place in of_class)
        areas = len(of_class) + sum(probabilities[place][number] for place in pixels)
        coefficients.append(2 * both / areas)
    return loss + 1 - np.mean(coefficients)


def test_the_loss_is_a_mean_over_the_labelled_pixels_of_each_image():
    found = segmentation_loss(tf.constant(LABELS), tf.constant(OUTPUTS)).numpy()

    expected = [by_hand(*each) for each in zip(LABELS, OUTPUTS, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[1] == 0


def test_pixels_weigh_as_their_classes():
    weights = (0.5, 1.0, 4.0)
    target, of_records = GOAL.weighted(tf.constant(LABELS), tf.ones(4), tf.constant(weights))

    found = GOAL.loss(target, tf.constant(OUTPUTS)).numpy()

    expected = [by_hand(*each, weights) for each in zip(LABELS, OUTPUTS, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert of_records.numpy().tolist() == [1, 1, 1, 1]


def test_ignored_pixels_have_no_gradient():
    outputs = tf.Variable(OUTPUTS)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(segmentation_loss(tf.constant(LABELS), outputs))

    gradient = tape.gradient(loss, outputs).numpy()

    assert not gradient[LABELS == 255].any()
    assert np.isfinite(gradient).all()
    assert gradient[LABELS < 255].any(axis=-1).all()


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
    """In a new model, distant logits change less than those at the pixel."""
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
        ({"image_size": 96, "model": "Xception"}, "--model Xception has no feature map"),
    ],
)
def test_what_cannot_be_built_is_refused(choose, options, message):
    task, _ = choose("image map", **options)
    with pytest.raises(ConfigError, match=message):
        task.model("small")
