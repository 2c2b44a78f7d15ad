"""Every record occurs once per pass, in an order that depends only on the seed."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiers import first_in_ci

import trainer
from trainer.input_pipeline import record_source
from trainer.input_pipeline.record_source import runs_of


def numbers(batches):
    return [int(number) for batch in batches for number in batch["number"]]


def shuffled(dataset, **options):
    """Return the record numbers of shuffled batches."""
    options = {"features": ["number"], "shuffle": True, "seed": 3, **options}
    return numbers(dataset.batches("train", **options))


def test_batches_hold_every_record_once_in_the_written_order(dataset):
    batches = dataset.batches("train", batch_size=8, features=["number"])

    assert sorted(numbers(batches)) == list(range(50))
    assert numbers(batches)[:4] == [0, 3, 6, 9]  # the first of three shards
    assert [len(batch["number"]) for batch in batches] == [8] * 6 + [2]
    assert len(list(dataset.batches("train", batch_size=8, image_size=8, drop_remainder=True))) == 6


def test_files_in_turn_are_read_in_ranges_at_once(colors, monkeypatch):
    monkeypatch.setattr(record_source, "_streamed", None)  # would read one file after the other
    records = trainer.open(colors).numpy("train", features="number")

    found = [int(record["number"]) for record in records]

    assert found == [*range(0, 50, 3), *range(1, 50, 3), *range(2, 50, 3)]


def test_iterations_over_gzip_are_independent(tmp_path, write_records):
    for name in ("a", "b"):
        write_records(tmp_path / f"{name}.tfrecord", [{"number": ord(name)}] * 3, "GZIP")
    batches = trainer.open(tmp_path / "*.tfrecord").batches(batch_size=2)
    first, second = iter(batches), iter(batches)
    next(first)

    assert numbers(second) == [97] * 3 + [98] * 3
    assert numbers(first) == [97] + [98] * 3


def test_shuffled_order_is_decided_by_the_seed(dataset):
    first, again, other = (shuffled(dataset, seed=seed, repeat=2) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert sorted(first[:50]) == sorted(first[50:]) == list(range(50))
    assert first[:50] != first[50:]  # another order in each pass


@pytest.mark.parametrize(("global_seed", "shuffle_buffer"), first_in_ci([(0, 7), (1, 2048)]))
def test_tensorflows_global_seed_has_no_part_in_the_order(dataset, global_seed, shuffle_buffer):
    options = {"seed": 0, "shuffle_buffer": shuffle_buffer}
    expected = shuffled(dataset, **options)

    keras.utils.set_random_seed(global_seed)

    assert shuffled(dataset, **options) == expected
    assert sorted(expected) == list(range(50))


def test_without_seed_each_call_has_its_own_order(dataset):
    assert shuffled(dataset, seed=None) != shuffled(dataset, seed=None)


@pytest.mark.parametrize("first_record", first_in_ci([73, 49, 0, 1, 50]))
@pytest.mark.parametrize("shuffle_shards", [None, 2])
def test_the_order_goes_on_from_any_record(dataset, first_record, shuffle_shards):
    options = {"repeat": 3, "shuffle_shards": shuffle_shards, "shuffle_buffer": 8}
    whole = shuffled(dataset, **options)

    assert shuffled(dataset, **options, first_record=first_record) == whole[first_record:]
    assert [sorted(whole[50 * number :][:50]) for number in range(3)] == [[*range(50)]] * 3


def test_iterating_again_gives_the_next_order(dataset):
    arguments = {"batch_size": 10, "features": ["number"], "shuffle": True, "seed": 3}
    two_passes = numbers(dataset.batches("train", repeat=2, **arguments))
    batches = dataset.batches("train", **arguments)

    assert [numbers(batches), numbers(batches)] == [two_passes[:50], two_passes[50:]]


@pytest.mark.parametrize("repeat", first_in_ci([False, 2], 1))
@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("first_record", first_in_ci([33, 50]))
def test_only_the_first_iteration_skips_records(
    dataset, monkeypatch, repeat, is_large, first_record
):
    monkeypatch.setattr(record_source, "_LARGE_BYTES", 0 if is_large else 1 << 20)
    passes = int(repeat) or 1
    whole = shuffled(dataset, repeat=3 * passes)
    batches = dataset.batches(
        "train", features="number", shuffle=True, seed=3, repeat=repeat, first_record=first_record
    )

    iterations = [numbers(batches) for _ in range(3)]

    ends = [0, *(50 * passes * number for number in range(1, 4))]
    expected = [whole[start:end] for start, end in itertools.pairwise(ends)]
    assert iterations == [expected[0][first_record:], *expected[1:]]
    assert int(batches.cardinality()) == tf.data.UNKNOWN_CARDINALITY


@pytest.fixture
def planned(monkeypatch):
    """Number of records read at once, per plan."""
    counts = []

    def counted(index, numbers):
        counts.append(len(numbers))
        return runs_of(index, numbers)

    monkeypatch.setattr(record_source, "runs_of", counted)
    return counts


def test_the_first_window_comes_in_parts(dataset, planned, monkeypatch):
    """The first batch need not wait for 256 MiB; the order is that of whole windows."""
    options = {"shuffle_buffer": 64, "repeat": 2, "first_record": 3}
    whole = shuffled(dataset, **options)
    assert planned == [47, 50]
    planned.clear()
    monkeypatch.setattr(record_source, "_LARGE_BYTES", 0)

    assert shuffled(dataset, **options) == whole
    assert planned == [2, 45, 50]


def test_what_was_skipped_is_not_read(dataset, planned):
    options = {"features": ["number"], "shuffle": True, "seed": 3, "shuffle_buffer": 10}
    options |= {"batch_size": 4, "repeat": True, "first_record": 10_000_007}
    batches = dataset.batches("train", **options)

    next(iter(batches))

    assert planned[0] <= 10  # a window without its used records
    assert len(planned) < 20


@pytest.mark.parametrize("num_workers", first_in_ci([4, 2]))
@pytest.mark.parametrize(
    "order", first_in_ci([{"shuffle": True, "shuffle_shards": 1}, {"shuffle": True}, {}])
)
def test_the_parts_of_workers_make_the_global_batches(dataset, num_workers, order):
    arguments = {"batch_size": 12, "features": ["number"], "seed": 3, **order}
    arguments |= {"repeat": 2, "first_record": 7}
    whole = [batch["number"].numpy() for batch in dataset.batches("train", **arguments)]

    parts = [
        list(dataset.batches("train", worker=worker, num_workers=num_workers, **arguments))
        for worker in range(num_workers)
    ]

    for number, batch in enumerate(whole[:-1]):
        together = np.concatenate([part[number]["number"] for part in parts])
        np.testing.assert_array_equal(together, batch)
    last = [part[-1]["number"] for part in parts if len(part) == len(whole)]
    np.testing.assert_array_equal(np.concatenate(last), whole[-1])


@pytest.mark.parametrize("features", [None, ["text"]], ids=["by batches", "by records"])
@pytest.mark.parametrize("first_record", first_in_ci([1, 0]))
def test_workers_have_equally_many_full_batches(tmp_path, write_records, features, first_record):
    records = [{"text": [b"a"] * (1 + number % 2), "number": number} for number in range(10)]
    write_records(tmp_path / "ten.tfrecord", records)
    parts = [
        trainer.open(tmp_path / "ten.tfrecord").batches(
            batch_size=4,
            features=features or ["number"],
            first_record=first_record,
            drop_remainder=True,
            worker=worker,
            num_workers=2,
        )
        for worker in range(2)
    ]

    count = (10 - first_record) // 4
    assert [len(list(part)) for part in parts] == [count, count]
    stated = tf.data.UNKNOWN_CARDINALITY if first_record else count
    assert [int(part.cardinality()) for part in parts] == [stated, stated]
    assert [len(list(part)) for part in parts] == [2, 2]  # again, without the skipped record
