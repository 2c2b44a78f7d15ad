"""Decisions before the first batch: weights, smoothing, image sizes, memory."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import learned

import trainer
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tasks import reading
from trainer.tasks.inputs.image import default_size, size_for_boxes
from trainer.tasks.reading import BatchChanges, balanced, count_by_class, read_weights


@pytest.fixture
def task(choose):
    """A task from an image of 8 x 8 to one of two classes."""
    return choose("i=image label", image_size=ImageSize(8, 8))[0]


def changed(task, changes, target, weights=()):
    function = changes.function(task)
    inputs, *made = function({}, tf.constant(target), *map(tf.constant, weights))
    assert inputs == {}
    return [each.numpy() for each in made]


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("balanced", None, id="balanced"),
        pytest.param("WBC=2, RBC=0.5", {"WBC": 2.0, "RBC": 0.5}, id="pairs"),
        pytest.param("a=b=2", {"a=b": 2.0}, id="a name with a sign"),
    ],
)
def test_weights_are_read(text, expected):
    assert read_weights(text) == expected


@pytest.mark.parametrize("text", ["a=-1", "a=x", "a=nan", "b=1,a=", "balance", "=2", "a=1, a=2"])
def test_other_weights_are_refused(text):
    with pytest.raises(ConfigError, match="is not a class, named once, with a weight from 0; give"):
        read_weights(text)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param([30, 10], [2 / 3, 2], id="uneven"),
        pytest.param([30, 0, 10], [2 / 3, 1, 2], id="a class without records"),
    ],
)
def test_balanced_weights_sum_to_the_records(counts, expected):
    weights = balanced(counts)

    assert weights == pytest.approx(expected)
    assert sum(a * b for a, b in zip(counts, weights, strict=True)) == pytest.approx(sum(counts))


def test_classes_are_counted_without_the_share_held_out(directory_of):
    """Statistics are of the whole split."""
    facts = {"train": {"target": {"strings": {"high": 20, "low": 20}}}}
    dataset = trainer.open(directory_of("names"))
    dataset = dataclasses.replace(dataset, read_statistics=lambda: facts)
    divided = dataset.hold_out("train", 0.25, "held")

    assert count_by_class(learned(dataset), dataset, "train") == [20, 20]
    assert sum(count_by_class(learned(dataset), divided, "train")) == 30


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (None, (320, 320)),
        ((480, 640), (480, 640)),
        ((75, 100), (64, 96)),
        ((1080, 1920), (352, 640)),
        ((9, 9), (32, 32)),
    ],
)
def test_the_default_size_is_near_that_of_the_images(stated, expected):
    assert default_size(stated, 32) == expected


@pytest.mark.parametrize(
    ("stated", "sides", "size"),
    [
        pytest.param(None, [0.5] * 9, (160, 160), id="large boxes"),
        pytest.param(None, [0.05] * 9, (384, 384), id="small boxes"),
        pytest.param(None, [1e-9] * 9, (640, 640), id="no larger than this"),
        pytest.param((480, 640), [0.05] * 9, (288, 384), id="in the images' aspect"),
        pytest.param((96, 128), [0.01] * 9, (96, 128), id="as the images are"),
        pytest.param((480, 640), [], (480, 640), id="no boxes"),
        pytest.param(None, [0.01] + [0.5] * 99, (160, 160), id="one is too small"),
    ],
)
def test_boxes_have_enough_pixels(stated, sides, size):
    stated = stated and ImageSize(*stated)
    assert size_for_boxes(stated, np.array(sides), 32) == ImageSize(*size)


def test_a_batch_beyond_the_free_memory_is_refused(task, monkeypatch):
    monkeypatch.setattr(reading, "free_memory", lambda: 4 * 8 * 8 * 3 * 10)

    reading.check_memory_of_batch(task, 10)
    with pytest.raises(ConfigError, match=r"--batch-size 11 needs 8.2 KiB .* 7.5 KiB are free"):
        reading.check_memory_of_batch(task, 11)


def test_boxes_are_cut_in_training_but_counted_whole_in_metrics(directory_of):
    dataset = trainer.open(directory_of("boxes"))
    most = max(len(record["boxes"]) for record in dataset.numpy("test"))
    task = learned(dataset, image_size=ImageSize(32, 32), pad={"boxes": 1})

    trained = reading.training_batches(task, dataset, "train", batch_size=8, seed=1)
    evaluated = reading.evaluation_batches(task, dataset, "test", batch_size=13)

    assert next(iter(trained))[1]["boxes"].shape[1] == 1
    assert next(iter(evaluated))[1]["boxes"].shape[1] == most > 1
