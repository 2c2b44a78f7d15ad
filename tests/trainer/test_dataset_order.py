"""Every record comes once a pass, in an order that the seed alone decides."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import trainer


def numbers(batches):
    return [int(number) for batch in batches for number in batch["number"]]


def test_batches_hold_every_record_once_in_the_written_order(dataset):
    batches = dataset.batches("train", batch_size=8, features=["number"])

    assert sorted(numbers(batches)) == list(range(50))
    assert numbers(batches)[:4] == [0, 3, 6, 9]  # the first of three shards
    assert [len(batch["number"]) for batch in batches] == [8] * 6 + [2]
    assert len(list(dataset.batches("train", batch_size=8, image_size=8, drop_remainder=True))) == 6


def test_shuffled_order_is_decided_by_the_seed(dataset):
    def order(seed):
        return numbers(
            dataset.batches(
                "train", batch_size=8, features=["number"], shuffle=True, seed=seed, repeat=2
            )
        )

    first, again, other = order(1), order(1), order(2)

    assert first == again
    assert first != other
    assert sorted(first[:50]) == sorted(first[50:]) == list(range(50))
    assert first[:50] != first[50:]  # another order each pass


@pytest.mark.parametrize("global_seed", [0, 1])
@pytest.mark.parametrize("shuffle_buffer", [7, 2048])
def test_tensorflows_global_seed_has_no_part_in_the_order(dataset, global_seed, shuffle_buffer):
    arguments = {
        "features": ["number"],
        "shuffle": True,
        "seed": 0,
        "shuffle_buffer": shuffle_buffer,
    }
    expected = numbers(dataset.batches("train", **arguments))

    keras.utils.set_random_seed(global_seed)

    assert numbers(dataset.batches("train", **arguments)) == expected
    assert sorted(expected) == list(range(50))


def test_without_seed_each_call_has_its_own_order(dataset):
    arguments = {"batch_size": 50, "features": ["number"], "shuffle": True}

    assert numbers(dataset.batches("train", **arguments)) != numbers(
        dataset.batches("train", **arguments)
    )


@pytest.mark.parametrize("first_record", [0, 1, 49, 50, 73])
def test_the_order_goes_on_from_any_record(dataset, first_record):
    arguments = {"batch_size": 10, "features": ["number"], "shuffle": True, "seed": 3}
    whole = numbers(dataset.batches("train", repeat=3, **arguments))

    rest = numbers(dataset.batches("train", repeat=3, first_record=first_record, **arguments))

    assert rest == whole[first_record:]


def test_cardinality_is_known(dataset):
    assert int(dataset.batches("train", batch_size=8, image_size=8).cardinality()) == 7
    endless = dataset.batches("train", image_size=8, repeat=True, shuffle=True)
    assert int(endless.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_numpy_yields_records(dataset):
    records = list(dataset.numpy("test", image_size=8))

    assert len(records) == 7
    assert isinstance(records[0]["image"], np.ndarray)
    assert sorted(int(record["number"]) for record in records) == list(range(63, 70))
    assert {int(record["label"]) for record in records} == {0, 1, 2}


def test_a_record_too_few_is_found(colors, tmp_path, write_records):
    dataset = trainer.open(colors)
    short = tmp_path / "short.tfrecord"
    write_records(short, [{"number": 1}])
    split = trainer.Split(name="train", files=(str(short),), num_records=2)
    damaged = trainer.Dataset(
        path="short", features={"number": dataset.features["number"]}, splits={"train": split}
    )

    with pytest.raises(tf.errors.FailedPreconditionError, match="expected to contain 2"):
        list(damaged.batches())
