"""Evaluation counts every record once, with any last batch and number of replicas."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import training
from tiers import first_in_ci

from trainer.errors import DatasetDamagedError
from trainer.input_pipeline import with_mask
from trainer.tasks import choose_task
from trainer.tasks.reading import evaluation_batches
from trainer.training.evaluation import evaluator


@pytest.fixture(scope="module")
def task(dataset):
    return choose_task(dataset.features, training(image_size=16))[0]


@pytest.fixture(scope="module")
def model(two_replicas):
    keras.utils.set_random_seed(1)
    with two_replicas.scope():
        return keras.Sequential(
            [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(3)]
        )


@pytest.fixture(scope="module")
def by_hand(dataset, task, model):
    """Compute loss and accuracy on the validation split, one image at a time."""
    losses, correct, labels, probabilities = [], [], [], []
    for record in dataset.numpy("validation", image_size=16, image_dtype="uint8"):
        logits = model(task.prepare({"image": record["image"][None]}), training=False)
        losses.append(float(task.loss(record["label"][None], logits)[0]))
        correct.append(float(np.argmax(logits) == record["label"]))
        labels.append(record["label"])
        probabilities.append(tf.nn.softmax(logits)[0])
    assert len(losses) == 13
    areas = []
    for number in range(3):
        scores, is_member = np.array(probabilities)[:, number], np.array(labels) == number
        areas.append(np.mean(scores[is_member][:, None] > scores[~is_member]))
    return {"loss": np.mean(losses), "accuracy": np.mean(correct), "auc": np.mean(areas)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch_size",
    first_in_ci(
        [
            pytest.param(4, id="the last batch leaves a replica without work"),
            pytest.param(8, id="the last batch splits unevenly"),
            pytest.param(26, id="one batch, a whole replica of nothing"),
        ]
    ),
)
def test_two_replicas_see_every_record_once(
    dataset, task, model, two_replicas, by_hand, batch_size
):
    evaluate = evaluator(task, model, two_replicas, dataset, "validation", batch_size)

    found = evaluate()
    assert evaluate() == found
    # Two of 13 records differ only by rounding, so they may be in either order.
    assert found.pop("auc") == pytest.approx(by_hand["auc"], abs=0.01)
    del found["macro_f1"], found["balanced_accuracy"]
    assert found == pytest.approx({name: by_hand[name] for name in ("loss", "accuracy")}, abs=1e-5)


@pytest.mark.slow
def test_records_too_few_are_an_error(dataset, task, model, two_replicas):
    stated = dataclasses.replace(dataset.split("validation"), num_records=14)
    wrong = dataclasses.replace(dataset, splits={"validation": stated})
    evaluate = evaluator(task, model, two_replicas, wrong, "validation", 8)

    with pytest.raises(DatasetDamagedError, match="read 13 records, but the split has 14"):
        evaluate()


@pytest.mark.parametrize(
    ("batch_size", "num_workers", "sizes"),
    first_in_ci(
        [
            pytest.param(8, 2, [[4, 4], [4, 1]], id="a part of the last batch"),
            pytest.param(8, 4, [[2, 2], [2, 2], [2, 1], [2, 0]], id="none of it"),
            pytest.param(26, 2, [[13], [0]], id="nothing at all"),
        ]
    ),
)
def test_workers_share_every_batch(dataset, task, batch_size, num_workers, sizes):
    options = {"batch_size": batch_size, "num_workers": num_workers}

    def images(**more):  # all batches differ
        batches = evaluation_batches(task, dataset, "validation", **more)
        return [[each.numpy().tobytes() for each in inputs["image"]] for inputs, _ in batches]

    parts = [images(worker=worker, **options) for worker in range(num_workers)]
    assert [[len(batch) for batch in part] for part in parts] == sizes
    for batch, *of_workers in zip(images(batch_size=batch_size), *parts, strict=True):
        assert [each for part in of_workers for each in part] == batch


def test_with_mask_fills_the_last_batch():
    batches = tf.data.Dataset.from_tensor_slices(
        ({"x": [1.0, 2.0, 3.0], "t": [b"a", b"b", b"c"]}, [[1], [2], [3]])
    ).batch(2)

    (_, _, first), (inputs, target, last) = with_mask(batches, 2)

    assert first.numpy().tolist() == [1, 1]
    assert last.numpy().tolist() == [1, 0]
    assert inputs["x"].numpy().tolist() == [3, 0]
    assert inputs["t"].numpy().tolist() == [b"c", b""]
    assert target.numpy().tolist() == [[3], [0]]
