"""Checkpoints hold weights, optimizer and epochs, exactly, for any number of replicas."""

import keras
import numpy as np
import pytest

from trainer.errors import CheckpointError
from trainer.training.checkpoint import Checkpoints, check_same_weights, weight_shapes


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
    Checkpoints(str(tmp_path), model, optimizer, num_sums=2).save(7, [0.1, 2.5])
    other, other_optimizer = build(one_replica, seed=2)

    position = Checkpoints(str(tmp_path), other, other_optimizer, num_sums=2).restore()

    assert position == (7, [0.1, 2.5])
    for mine, theirs in zip(model.weights, other.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    for mine, theirs in zip(optimizer.variables, other_optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_the_last_few_are_kept(tmp_path, one_replica):
    checkpoints = Checkpoints(str(tmp_path), *build(one_replica), max_to_keep=2)
    for step in (8, 16, 20):
        checkpoints.save(step, [0.0])

    assert sorted(file.stem for file in tmp_path.glob("*.index")) == ["step-16", "step-20"]


def test_what_a_killed_run_was_writing_is_deleted(tmp_path, one_replica):
    Checkpoints(str(tmp_path), *build(one_replica)).save(8, [0.0])
    (tmp_path / "step-16.data-00000-of-00001").write_bytes(b"half")

    assert Checkpoints(str(tmp_path), *build(one_replica)).restore()[0] == 8
    assert not list(tmp_path.glob("step-16*"))


def test_nothing_to_restore(tmp_path, one_replica):
    assert Checkpoints(str(tmp_path), *build(one_replica)).restore() == (0, [0.0])


def test_another_models_checkpoint(tmp_path, one_replica):
    Checkpoints(str(tmp_path), *build(one_replica)).save(1, [0.0])

    with pytest.raises(CheckpointError, match="does not hold this model"):
        Checkpoints(str(tmp_path), *build(one_replica, units=5)).restore()


def test_the_first_weight_that_differs_is_named(one_replica):
    trained = weight_shapes(build(one_replica)[0])

    check_same_weights(build(one_replica)[0], trained, "R")
    with pytest.raises(
        CheckpointError, match=r"R has another .*kernel of shape \[4, 3\], here .*5"
    ):
        check_same_weights(build(one_replica, units=5)[0], trained, "R")
