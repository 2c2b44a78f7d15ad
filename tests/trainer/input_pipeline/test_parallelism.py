"""Input stages run in parallel with each other and with the training."""

import itertools

import pytest
import tensorflow as tf
from kinds_of_learning import training

import trainer
from trainer.input_pipeline import record_source, with_mask
from trainer.tasks import choose_task
from trainer.tasks.reading import BatchChanges, evaluation_batches, training_batches
from trainer.views import Views


def stages(dataset):
    """Kinds of a dataset and its inputs, last stage first."""
    yield type(dataset).__name__.strip("_").removesuffix("Dataset")
    for each in dataset._inputs():
        yield from stages(each)


def task_of(dataset):
    return choose_task(dataset.features, training(image_size=(8, 8)))[0]


def training_of_smoothed(dataset):
    changes = BatchChanges(label_smoothing=0.2)
    task = task_of(dataset)
    return training_batches(task, dataset, "train", batch_size=4, seed=1, changes=changes)


def evaluation(dataset):
    task = task_of(dataset)
    return with_mask(evaluation_batches(task, dataset, "train", batch_size=4), 4)


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param(
            lambda data: data.batches("train", image_size=8, views=Views(mirror=True)), id="views"
        ),
        pytest.param(
            lambda data: data.batches("train", image_size=8, cache="memory"), id="kept images"
        ),
        pytest.param(lambda data: data.batches("train", features="label"), id="whole batches"),
        pytest.param(lambda data: data.batches("train", batch_size=None), id="single records"),
        pytest.param(training_of_smoothed, id="training"),
        pytest.param(evaluation, id="evaluation"),
    ],
)
def test_every_map_is_parallel_and_nothing_follows_the_prefetch(colors, batches):
    kinds = [kind for kind in stages(batches(trainer.open(colors))) if kind != "Options"]

    assert kinds[0] == "Prefetch"
    assert "ParallelMap" in kinds
    # `unbatch` has its own map over windows.
    assert [
        kind
        for after, kind in itertools.pairwise(kinds)
        if kind == "Map" and after != "Restructured"
    ] == []


def test_options_leave_what_users_combine_with_the_batches_as_it_was(dataset):
    usual = tf.data.Dataset.range(7).options()
    batches = dataset.batches("train", image_size=8, deterministic=False)

    combined = tf.data.Dataset.zip(batches, tf.data.Dataset.range(7)).options()

    assert combined.deterministic == usual.deterministic
    assert combined.autotune == usual.autotune
    # TensorFlow's default would divide the records wrongly among workers.
    policy = combined.experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA


def test_files_in_turn_are_read_in_ranges_at_once(colors, monkeypatch):
    monkeypatch.setattr(record_source, "_streamed", None)  # would read one file after the other
    dataset = trainer.open(colors)

    numbers = [int(record["number"]) for record in dataset.numpy("train", features="number")]

    assert numbers == [*range(0, 50, 3), *range(1, 50, 3), *range(2, 50, 3)]
