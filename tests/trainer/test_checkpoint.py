"""Checkpoints hold weights, optimizer and epochs, exactly, for any number of replicas."""

import keras
import numpy as np
import pytest

from trainer.checkpoint import Checkpoints
from trainer.errors import CheckpointError


def build(strategy, units=3, seed=1):
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
        optimizer = keras.optimizers.Adam()
        optimizer.build(model.trainable_variables)
    return model, optimizer


def test_two_replicas_restore_on_one(tmp_path, two_replicas, one_replica):
    model, optimizer = build(two_replicas)
    for number, variable in enumerate(optimizer.variables):
        variable.assign(np.full(variable.shape, number))
    Checkpoints(str(tmp_path), model, optimizer).save(7)
    other, other_optimizer = build(one_replica, seed=2)

    epochs_done = Checkpoints(str(tmp_path), other, other_optimizer).restore()

    assert epochs_done == 7
    for mine, theirs in zip(model.weights, other.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    for mine, theirs in zip(optimizer.variables, other_optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_the_last_few_are_kept(tmp_path, one_replica):
    checkpoints = Checkpoints(str(tmp_path), *build(one_replica), max_to_keep=2)
    for epochs_done in (1, 2, 3):
        checkpoints.save(epochs_done)

    assert sorted(file.stem for file in tmp_path.glob("*.index")) == ["epoch-2", "epoch-3"]


def test_nothing_to_restore(tmp_path, one_replica):
    assert Checkpoints(str(tmp_path), *build(one_replica)).restore() == 0


def test_another_models_checkpoint(tmp_path, one_replica):
    Checkpoints(str(tmp_path), *build(one_replica)).save(1)

    with pytest.raises(CheckpointError, match="does not hold this model"):
        Checkpoints(str(tmp_path), *build(one_replica, units=5)).restore()
