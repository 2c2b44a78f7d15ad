"""Batch normalisation on several replicas, over the global batch or a replica's part."""

import functools
import json

import keras
import numpy as np
import pytest
from following import Follower

import trainer
from trainer.commands import main
from trainer.training import batch_normalization, loop

MOMENTUM = 0.5


def normalized(task=None, *, synchronized=False):
    """A model that normalises the images, and then features of them."""
    options = {"momentum": MOMENTUM, "synchronized": synchronized}
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.BatchNormalization(**options),
            keras.layers.Conv2D(4, 3, strides=2),
            keras.layers.BatchNormalization(**options),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ]
    )


def trained(make_plan, strategy, *, synchronized):
    model = functools.partial(normalized, synchronized=synchronized)
    plan = make_plan(strategy, model=model, steps_per_epoch=5)
    loop.run(plan, Follower(plan, range(1)))
    return plan.model.get_weights()


@pytest.mark.slow
def test_synchronised_two_replicas_learn_what_one_learns(make_plan, one_replica, two_replicas):
    one = trained(make_plan, one_replica, synchronized=False)
    two = trained(make_plan, two_replicas, synchronized=True)
    apart = trained(make_plan, two_replicas, synchronized=False)

    # Another order of sums changes the rounding, which five steps amplify.
    for mine, theirs in zip(two, one, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-4)
    assert max(np.abs(mine - theirs).max() for mine, theirs in zip(apart, one, strict=True)) > 1e-3


@pytest.mark.slow
def test_else_the_statistics_are_those_of_the_first_replicas_part(make_plan, two_replicas):
    plan = make_plan(two_replicas, model=normalized, steps_per_epoch=1)
    ((inputs, _),) = plan.batches_from(0).take(1)
    halves = [plan.task.prepare(inputs)[part].numpy() for part in (slice(0, 4), slice(4, 8))]
    average = plan.model.layers[0].moving_mean
    by_replica = two_replicas.experimental_local_results

    loop.run(plan, Follower(plan, range(1)))

    found = [each.numpy() for each in by_replica(average.value)]
    means = [(1 - MOMENTUM) * half.mean(axis=(0, 1, 2)) for half in halves]
    np.testing.assert_allclose(found, means, rtol=1e-5)
    np.testing.assert_array_equal(average.numpy(), found[0])  # the saved value
    batch_normalization.equaliser(plan.model, two_replicas)()
    for each in by_replica(average.value):
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.slow
def test_a_run_validates_the_model_that_it_saves(colors, tmp_path, capsys):
    options = {"batch_size": 8, "image_size": 16, "steps_per_epoch": 3, "seed": 1}
    options |= {"devices": "cpu:2", "deterministic": True}
    whole, parts = tmp_path / "whole", tmp_path / "parts"

    row = trainer.train(colors, whole, model=normalized, epochs=2, **options)
    said = capsys.readouterr().err
    trainer.train(colors, parts, model=normalized, epochs=1, **options)
    trainer.train(colors, parts, model=normalized, epochs=2, **options)

    assert "runs over the 4 records of each replica" in said
    assert (parts / "history.csv").read_text() == (whole / "history.csv").read_text()
    command = ["evaluate", "--data", colors, "--run", whole, "--split", "validation"]
    capsys.readouterr()
    assert main([str(each) for each in [*command, "--devices", "cpu", "--quiet"]]) == 0
    assert json.loads(capsys.readouterr().out)["loss"] == pytest.approx(row["val_loss"], rel=1e-5)


def test_models_without_batch_normalisation_have_nothing_apart(make_plan, two_replicas):
    plan = make_plan(two_replicas)

    assert not batch_normalization.is_apart(plan.model)
    assert batch_normalization.equaliser(plan.model, two_replicas)() is None
    assert batch_normalization.is_apart(normalized())
