"""Mixtures, smoothed classes and weights of classes: what they do, and for which tasks."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.errors import ConfigError
from trainer.tasks.batch_changes import BatchChanges

MIXUP, CUTMIX = {"mixup": 0.2}, {"cutmix": 1.0}


@pytest.mark.parametrize(
    ("declared", "changes", "batch_size", "workers", "message"),
    [
        ("i=image y=float", {"label_smoothing": 0.1}, 8, 1, "--label-smoothing needs"),
        ("image boxes", MIXUP, 8, 1, "--mixup needs classes, but the target 'boxes' is"),
        ("image map", CUTMIX, 8, 1, "--cutmix needs classes, .* a class for each pixel; leave it"),
        ("s=ids label", CUTMIX, 8, 1, "inputs are s"),
        ("image v=vector label", MIXUP, 8, 1, "name one image by --inputs"),
        ("image label", MIXUP, 6, 2, "--batch-size 6 .* on each of 2 workers; .* multiple of 4"),
        ("image label", MIXUP, 7, 1, "a multiple of 2"),
        ("s=ids label", {"label_smoothing": 0.1}, 7, 1, None),
        ("image label", MIXUP, 8, 4, None),
    ],
)
def test_what_cannot_be_changed_is_refused(choose, declared, changes, batch_size, workers, message):
    task, _ = choose(declared)
    made = BatchChanges(**changes)

    if message is None:
        made.check(task, batch_size, workers)
    else:
        with pytest.raises(ConfigError, match=message):
            made.check(task, batch_size, workers)


def changed(task, changes, target, images=None, worker=0, workers=1, weights=()):
    function = changes.function(
        task, seed=1, batch_size=len(target) * workers, worker=worker, num_workers=workers
    )
    images = np.zeros((len(target), 2, 2, 3), np.uint8) if images is None else images
    inputs = {"i": tf.constant(images)}
    inputs, *made = function(7, inputs, tf.constant(target), *map(tf.constant, weights))
    return [inputs["i"].numpy(), *(each.numpy() for each in made)]


@pytest.fixture
def task(choose):
    """An image to one of two classes."""
    return choose("i=image label")[0]


def test_labels_are_smoothed(task):
    _, shares = changed(task, BatchChanges(label_smoothing=0.1), [0, 1])

    np.testing.assert_allclose(shares, [[0.95, 0.05], [0.05, 0.95]])


def test_weights_of_classes_join_those_of_records(task):
    weighted = BatchChanges(class_weights=(3.0, 0.5))

    assert changed(task, weighted, [0, 1, 1])[2].tolist() == [3, 0.5, 0.5]
    assert changed(task, weighted, [0, 1], weights=[[2.0, 4.0]])[2].tolist() == [6, 2]


def test_mixtures_are_those_of_the_global_batch_on_every_worker(task):
    changes = BatchChanges(mixup=0.5, cutmix=1.0, label_smoothing=0.1, class_weights=(3.0, 0.5))
    images = np.random.default_rng(0).integers(0, 255, (8, 6, 6, 3), np.uint8)
    target = [0, 1, 1, 0, 0, 1, 1, 1]
    whole = changed(task, changes, target, images)

    for workers in (2, 4):
        size = 8 // workers
        parts = [
            changed(
                task,
                changes,
                target[worker * size : (worker + 1) * size],
                images[worker * size : (worker + 1) * size],
                worker,
                workers,
            )
            for worker in range(workers)
        ]
        for mine, theirs in zip(zip(*parts, strict=True), whole, strict=True):
            np.testing.assert_array_equal(np.concatenate(mine), theirs)


def test_the_loss_of_shares_is_the_shares_of_the_losses(task):
    outputs = tf.constant([[1.0, -0.5], [0.2, 0.1]])
    of_each = [task.loss(tf.constant([each, each]), outputs).numpy() for each in (0, 1)]

    found = task.loss(tf.constant([[0.3, 0.7], [1.0, 0.0]]), outputs).numpy()

    np.testing.assert_allclose(
        found, [0.3 * of_each[0][0] + 0.7 * of_each[1][0], of_each[0][1]], rtol=1e-5
    )
    shares = tf.constant([[0.7, 0.3], [0.4, 0.6]])
    assert task.metrics["accuracy"](shares, outputs).numpy().tolist() == [1, 0]
