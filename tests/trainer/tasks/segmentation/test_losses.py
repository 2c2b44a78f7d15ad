"""The loss of the segmenter."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.tasks.segmentation import segmentation_loss
from trainer.tasks.targets import MapTarget

GOAL = MapTarget(name="map", classes=("sky", "tree", "house"), height=4, width=6)
RANDOM = np.random.default_rng(1)
LABELS = RANDOM.integers(0, 3, (4, 4, 6)).astype(np.uint8)
LABELS[0, :2] = 255
LABELS[1] = 255
LABELS[2, LABELS[2] == 2] = 0
OUTPUTS = RANDOM.normal(size=(4, 4, 6, 3)).astype(np.float32)


def by_hand(labels, outputs, weights=(1, 1, 1)):
    """The loss of one image, pixel by pixel."""
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
    ("pixel", "message"),
    [
        pytest.param(2, None, id="the last class"),
        pytest.param(255, None, id="ignored"),
        pytest.param(
            3, "seg.* has a pixel that is not one of the 3 classes;.*Found:. .3", id="none"
        ),
    ],
)
def test_pixels_of_no_class_are_refused(pixel, message):
    goal = MapTarget(name="seg", classes=("a", "b", "c"))
    maps = tf.constant(np.array([[[[1], [pixel]]]], np.uint8))
    step = tf.function(goal.host_step(), autograph=False)

    if message is None:
        assert step({"seg": maps}).numpy().tolist() == [[[1, pixel]]]
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            step({"seg": maps})
