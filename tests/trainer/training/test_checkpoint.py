"""Checkpoints restore weights, optimizer and position exactly, on any number of replicas."""

import shutil

import keras
import numpy as np
import pytest
from damages import DAMAGES, flip
from tiers import first_in_ci

from trainer.errors import CheckpointError, RunDamagedError
from trainer.training import checkpoint
from trainer.training.checkpoint import Checkpoints

DATA = "state.data-00000-of-00001"


def build(strategy, units=3, seed=1):
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
        optimizer = keras.optimizers.Adam()
        optimizer.build(model.trainable_variables)
    return model, optimizer


def fill(model, optimizer, number):
    for variable in (*model.weights, *optimizer.variables):
        variable.assign(np.full(variable.shape, number))


def values(model, optimizer):
    return [variable.numpy().tolist() for variable in (*model.weights, *optimizer.variables)]


@pytest.fixture
def saved(tmp_path, one_replica):
    """A folder with the last checkpoints, of steps 8, 16 and 24, which are variables' values."""
    model, optimizer = build(one_replica)
    checkpoints = Checkpoints(tmp_path, model, optimizer)
    for step in (4, 8, 16, 24):
        fill(model, optimizer, step)
        checkpoints.save(step, [step / 3])
    return tmp_path


def restored(directory, strategy, said=None):
    """Return the restored (steps, sums), and check the variables of that step."""
    model, optimizer = build(strategy, seed=2)
    say = (said if said is not None else []).append
    step, sums = Checkpoints(directory, model, optimizer, say=say).restore()
    expected = build(strategy)
    fill(*expected, step)
    assert values(model, optimizer) == values(*expected)
    return step, sums


def test_two_replicas_restore_on_one(tmp_path, two_replicas, one_replica):
    model, optimizer = build(two_replicas)
    for number, variable in enumerate(optimizer.variables):
        variable.assign(np.full(variable.shape, number))
    Checkpoints(tmp_path, model, optimizer, num_sums=2).save(7, [0.1, 2.5])
    other, other_optimizer = build(one_replica, seed=2)

    position = Checkpoints(tmp_path, other, other_optimizer, num_sums=2).restore()

    assert position == (7, [0.1, 2.5])
    assert values(other, other_optimizer) == values(model, optimizer)


def test_none_is_deleted_before_the_new_one_is_on_disk(saved, one_replica, monkeypatch):
    def fail(path):
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(checkpoint.durable, "sync_tree", fail)
    with pytest.raises(OSError, match="No space"):
        Checkpoints(saved, *build(one_replica)).save(32, [0.0])

    assert checkpoint.steps_in(saved) == [24, 16, 8]
    assert restored(saved, one_replica) == (24, [8.0])


def test_nothing_to_restore(tmp_path, one_replica):
    assert Checkpoints(tmp_path, *build(one_replica)).restore() == (0, [0.0])


@pytest.mark.parametrize("name", ["state.index", DATA, "checksums.json"])
@pytest.mark.parametrize("damage", first_in_ci(DAMAGES))
def test_the_newest_whole_one_is_restored_and_damaged_ones_are_named(
    saved, one_replica, name, damage
):
    damage(saved / "step-24" / name)
    said = []

    assert restored(saved, one_replica, said) == (16, [16 / 3])
    assert "step-24 (" in said[0]
    assert said[0].endswith("continuing from step 16")

    model, optimizer = build(one_replica)
    checkpoints = Checkpoints(saved, model, optimizer)
    fill(model, optimizer, 20)
    checkpoints.save(20, [0.0])  # the damaged one is now obsolete
    assert checkpoint.steps_in(saved) == [20, 16, 8]
    assert restored(saved, one_replica)[0] == 20


def test_all_are_damaged(saved, one_replica):
    for step in (8, 16, 24):
        flip(saved / f"step-{step}" / DATA)

    with pytest.raises(RunDamagedError, match=r"no intact checkpoint: .*step-24 .*step-16 .*-8"):
        restored(saved, one_replica)
    assert checkpoint.steps_in(saved) == [24, 16, 8]


def test_a_file_too_many_is_damage(saved, one_replica):
    shutil.copy(saved / "step-16" / DATA, saved / "step-24" / "state.data-00001-of-00002")

    assert restored(saved, one_replica) == (16, [16 / 3])


def test_one_of_another_step_is_not_believed(saved, one_replica):
    shutil.copytree(saved / "step-8", saved / "step-99")

    assert restored(saved, one_replica) == (24, [8.0])


def test_what_a_killed_run_left_is_deleted(saved, one_replica):
    (saved / ".unfinished-32").mkdir()
    (saved / ".unfinished-32" / "state.index").write_bytes(b"half")
    shutil.copytree(saved / "step-8", saved / ".unfinished-8-gone")

    assert restored(saved, one_replica) == (24, [8.0])
    assert sorted(each.name for each in saved.iterdir()) == ["step-16", "step-24", "step-8"]


def test_another_models_checkpoint(tmp_path, one_replica):
    Checkpoints(tmp_path, *build(one_replica)).save(1, [0.0])

    with pytest.raises(
        CheckpointError, match=r"belongs to another model: .*\(4, 5\).*\(4, 3\); pass"
    ):
        Checkpoints(tmp_path, *build(one_replica, units=5)).restore()
