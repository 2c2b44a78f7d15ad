"""Smoothed classes and weights of classes."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.tasks.reading import BatchChanges


def changed(task, changes, target, weights=()):
    function = changes.function(task)
    inputs, *made = function({}, tf.constant(target), *map(tf.constant, weights))
    assert inputs == {}
    return [each.numpy() for each in made]


@pytest.fixture
def task(choose):
    """An image to one of two classes."""
    return choose("i=image label")[0]


def test_labels_are_smoothed(task):
    (shares,) = changed(task, BatchChanges(label_smoothing=0.1), [0, 1])

    np.testing.assert_allclose(shares, [[0.95, 0.05], [0.05, 0.95]])


def test_weights_of_classes_join_those_of_records(task):
    weighted = BatchChanges(class_weights=(3.0, 0.5))

    assert changed(task, weighted, [0, 1, 1])[1].tolist() == [3, 0.5, 0.5]
    assert changed(task, weighted, [0, 1], weights=[[2.0, 4.0]])[1].tolist() == [6, 2]


def test_the_loss_of_shares_is_the_shares_of_the_losses(task):
    outputs = tf.constant([[1.0, -0.5], [0.2, 0.1]])
    of_each = [task.loss(tf.constant([each, each]), outputs).numpy() for each in (0, 1)]

    found = task.loss(tf.constant([[0.3, 0.7], [1.0, 0.0]]), outputs).numpy()

    np.testing.assert_allclose(
        found, [0.3 * of_each[0][0] + 0.7 * of_each[1][0], of_each[0][1]], rtol=1e-5
    )
    shares = tf.constant([[0.7, 0.3], [0.4, 0.6]])
    assert task.metrics["accuracy"](shares, outputs).numpy().tolist() == [1, 0]
