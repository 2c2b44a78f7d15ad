"""Orders mix the whole split, and depend only on the seed and the pass."""

import itertools

import numpy as np
import pytest

from trainer.order import Order, WorkerShare, block_size, group_size, num_groups, window_size

RECORDS, BATCH, PASSES = 51_200, 32, 6


def one_pass(order, number):
    keys = np.concatenate([order.window(number, each)[1] for each in range(order.num_windows)])
    assert (keys[:, 0] == number).all()
    return keys[:, 1]


def shard_lengths(count):
    """Shards that differ in length."""
    edges = np.linspace(0, 1, count + 1) ** 1.2 * RECORDS
    return np.diff(edges.round().astype(int))


@pytest.fixture(scope="module", params=[1, 16, 1000], ids="{} shards".format)
def passes(request):
    """Several passes in windows of 2,048 records: record numbers [passes, records]."""
    order = Order(shard_lengths(request.param), seed=3, window=2048)
    return np.stack([one_pass(order, number) for number in range(PASSES)])


def test_every_record_comes_once_a_pass(passes):
    assert (np.sort(passes, axis=1) == np.arange(RECORDS)).all()


def test_a_pair_meets_again_at_most_half_again_as_often_as_by_chance(passes):
    batches = np.argsort(passes, axis=1) // BATCH  # of each record, by pass
    again = 0
    for number in range(1, PASSES):
        together = batches[number][passes[number - 1]].reshape(-1, BATCH)
        again += (together[:, :, None] == together[:, None, :]).sum() - together.size
    pairs = (PASSES - 1) * RECORDS * (BATCH - 1)

    assert again / pairs <= 1.5 * (BATCH - 1) / (RECORDS - 1)


def test_positions_do_not_correlate_from_pass_to_pass(passes):
    positions = np.argsort(passes, axis=1)
    correlations = np.corrcoef(np.vstack([np.arange(RECORDS), positions]))

    assert np.abs(np.triu(correlations, 1)).max() < 0.03


def test_records_sorted_by_class_come_mixed(passes):
    classes = passes[0] * 10 // RECORDS  # as in bare files, written class by class
    shares = (classes.reshape(-1, 512)[:, :, None] == np.arange(10)).mean(axis=1)

    assert np.abs(shares - 0.1).max() < 0.1


@pytest.mark.parametrize(
    ("records", "window", "expected"),
    [
        pytest.param(51_200, 2048, 6, id="few records: for the correlation"),
        pytest.param(1_281_167, 2773, 4, id="images"),
        pytest.param(10_000_000, 1 << 16, 64, id="small records"),
        pytest.param(10_000, 10_000, 1, id="one window"),
        pytest.param(10, 10, 1, id="hardly any"),
        pytest.param(100, 7, 1, id="a small window"),
    ],
)
def test_blocks_are_as_long_as_mixing_allows(records, window, expected):
    assert block_size(records, window) == expected


@pytest.mark.parametrize(
    ("records", "mean_bytes", "expected"),
    [
        pytest.param(1000, 110_000, 2440, id="256 MiB"),
        pytest.param(1_281_167, 110_000, 2773, id="as many as mix blocks of 4"),
        pytest.param(10_000_000, 110_000, 4880, id="512 MiB"),
        pytest.param(1000, 100, 1 << 16, id="65,536 records"),
        pytest.param(1000, 1 << 30, 1, id="one"),
    ],
)
def test_windows_are_bounded_in_bytes_and_records(records, mean_bytes, expected):
    assert window_size(records, records * mean_bytes) == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([200 << 20] * 1000, 16, id="16 shards"),
        pytest.param([100 << 20] * 9 + [1 << 30], 4, id="4 GiB"),
        pytest.param([1 << 40] * 3, 1, id="one"),
        pytest.param([4 << 20] * 1000, 64, id="as many bytes as a window"),
    ],
)
def test_groups_are_bounded_in_bytes_and_shards(sizes, expected):
    assert group_size(sizes) == expected


@pytest.fixture(scope="module", params=[(64, 16), (33, 16), (7, 1)], ids=str)
def grouped(request):
    """An order in groups of shards, and its windows in several passes: [passes][windows]."""
    num_shards, group = request.param
    order = Order(shard_lengths(num_shards), seed=3, window=2048, group=group)
    windows = [
        [order.window(number, each) for each in range(order.num_windows)]
        for number in range(PASSES)
    ]
    return num_shards, group, order, windows


def test_a_pass_reads_each_shard_in_one_group(grouped):
    num_shards, group, order, windows = grouped
    shard_of = np.repeat(np.arange(num_shards), shard_lengths(num_shards))
    orders = set()
    for number, of_pass in enumerate(windows):
        groups = [tuple(order.shards(number, each)) for each in range(order.num_windows)]
        for shards, (_, keys) in zip(groups, of_pass, strict=True):
            assert len(shards) <= group
            assert set(shard_of[keys[:, 1]]) <= set(shards)
            assert len(keys) <= 2048 + 64
        read = [*itertools.chain(*dict.fromkeys(groups))]
        assert sorted(read) == [*range(num_shards)]
        orders.add(tuple(read))
    assert len(orders) == PASSES


def test_groups_give_every_record_once_and_its_position_finds_it(grouped):
    _, _, order, windows = grouped
    for number, of_pass in enumerate(windows):
        records = np.concatenate([keys[:, 1] for _, keys in of_pass])
        assert (np.sort(records) == np.arange(RECORDS)).all()
        for position in (0, 1, 20_000, RECORDS - 1):
            start, keys = of_pass[order.find(number, position)]
            assert keys[position - start].tolist() == [number, records[position]]


def test_a_pair_of_one_group_meets_again_at_most_half_again_as_often_as_by_chance():
    order = Order([RECORDS // 32] * 32, seed=3, window=2048, group=8)
    records = np.stack([one_pass(order, number) for number in range(PASSES)])
    positions = np.argsort(records, axis=1)
    of_group = RECORDS // num_groups(32, 8)
    met = {BATCH: 0, of_group: 0}
    for number in range(1, PASSES):
        now = positions[number][records[number - 1]].reshape(-1, BATCH)
        for size in met:
            place = now // size
            met[size] += (place[:, :, None] == place[:, None, :]).sum() - now.size

    again, together = met.values()
    assert again / together <= 1.5 * (BATCH - 1) / (of_group - 1)


def test_one_group_of_all_shards_is_the_order_without_groups():
    lengths = shard_lengths(16)
    orders = [Order(lengths, seed=3, window=2048, group=group) for group in (0, 16)]
    first, second = (one_pass(order, 1).tolist() for order in orders)

    assert first == second


def test_the_order_is_that_of_these_numbers_for_good():
    order = Order([5, 0, 4], seed=7, window=4)

    assert [one_pass(order, number).tolist() for number in range(2)] == [
        [1, 4, 8, 2, 3, 6, 0, 7, 5],
        [6, 3, 1, 5, 4, 2, 8, 7, 0],
    ]
    assert one_pass(Order([5, 0, 4], seed=None, window=4), 1).tolist() == list(range(9))
    order = Order([2, 3, 1, 2], seed=7, window=2, group=2)
    assert [one_pass(order, number).tolist() for number in range(2)] == [
        [0, 1, 5, 6, 3, 7, 4, 2],
        [7, 1, 6, 0, 4, 3, 5, 2],
    ]


@pytest.mark.parametrize("position", [0, 1, 4999, 5000, 51_199])
def test_the_window_of_a_position_is_found(position):
    order = Order(shard_lengths(16), seed=1, window=500)

    number = order.find(2, position)

    start, keys = order.window(2, number)
    assert start <= position < start + len(keys)
    assert keys[position - start, 1] == one_pass(order, 2)[position]


@pytest.mark.parametrize("num_workers", [1, 2, 4])
@pytest.mark.parametrize("total", [40, 46, 41, 3])
def test_workers_share_every_global_batch(num_workers, total):
    positions = np.arange(total)
    shares = [
        WorkerShare(worker=worker, num_workers=num_workers, batch_size=8)
        for worker in range(num_workers)
    ]
    parts = [positions[share.holds(positions, total)] for share in shares]

    full = total - total % 8
    batches = [part[part < full].reshape(total // 8, 8 // num_workers) for part in parts]
    assert np.concatenate(batches, axis=1).ravel().tolist() == positions[:full].tolist()
    last = [part[part >= full].tolist() for part in parts]
    assert [*itertools.chain(*last)] == positions[full:].tolist()
    assert max(map(len, last)) - min(map(len, last)) <= 1
    assert [share.num_held(total) for share in shares] == [*map(len, parts)]


def test_a_share_without_an_incomplete_batch():
    share = WorkerShare(worker=1, num_workers=2, batch_size=4, drop_remainder=True)

    assert np.flatnonzero(share.holds(np.arange(11), 11)).tolist() == [2, 3, 6, 7]
    assert share.num_held(11) == 4
