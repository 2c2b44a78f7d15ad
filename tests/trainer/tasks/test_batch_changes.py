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
        ("image label", {"mosaic": 0.5}, 8, 1, "--mosaic is for boxes, but the target 'label' is"),
        (
            "image boxes",
            {"mosaic": 0.5},
            12,
            2,
            "12 is not a multiple of 4 .*; use a multiple of 8",
        ),
        ("image boxes", {"mosaic": 1.0}, 16, 4, None),
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


def test_mosaics_are_those_of_the_global_batch_on_every_worker(choose):
    task, _ = choose("i=image boxes")
    changes = BatchChanges(mosaic=0.5)
    random = np.random.default_rng(0)
    images = random.integers(0, 255, (8, 32, 32, 3), np.uint8)
    least = random.uniform(0, 0.5, (8, 2, 2)).astype(np.float32)
    columns = {"boxes": np.concatenate([least, least + 0.4], axis=-1)}
    columns["box_labels"] = np.tile([0, 1], (8, 1))
    if task.goal.window:
        columns[task.goal.window] = np.tile(np.float32([-0.5, 0, 1.5, 1]), (8, 1))

    def made(worker, workers):
        records = slice(worker * 8 // workers, (worker + 1) * 8 // workers)
        target = task.goal.host_step()({key: tf.constant(v[records]) for key, v in columns.items()})
        function = changes.function(task, seed=1, batch_size=8, worker=worker, num_workers=workers)
        inputs, target = function(7, {"i": tf.constant(images[records])}, target)
        shown = [
            task.goal.shown({key: values.numpy()[row] for key, values in target.items()})[1].boxes
            for row in range(8 // workers)
        ]
        return inputs["i"].numpy(), target["windows"].numpy(), shown

    whole = made(0, 1)
    changed = (whole[0] != images).any(axis=(1, 2, 3))
    assert 0 < changed.sum() < 8
    assert (whole[1][changed] == [0, 0, 1, 1]).all()
    assert (whole[1][~changed] == [-0.5, 0, 1.5, 1]).all()
    parts = [made(worker, 2) for worker in (0, 1)]
    for place in (0, 1):
        np.testing.assert_array_equal(np.concatenate([part[place] for part in parts]), whole[place])
    assert [*parts[0][2], *parts[1][2]] == whole[2]


def test_the_loss_of_shares_is_the_shares_of_the_losses(task):
    outputs = tf.constant([[1.0, -0.5], [0.2, 0.1]])
    of_each = [task.loss(tf.constant([each, each]), outputs).numpy() for each in (0, 1)]

    found = task.loss(tf.constant([[0.3, 0.7], [1.0, 0.0]]), outputs).numpy()

    np.testing.assert_allclose(
        found, [0.3 * of_each[0][0] + 0.7 * of_each[1][0], of_each[0][1]], rtol=1e-5
    )
    shares = tf.constant([[0.7, 0.3], [0.4, 0.6]])
    assert task.metrics["accuracy"](shares, outputs).numpy().tolist() == [1, 0]
