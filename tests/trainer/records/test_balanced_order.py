"""All classes come equally often, and the order is a function of the position in the run alone."""

import numpy as np
import pytest

from trainer.records.balanced_order import BalancedOrder

CLASSES = np.array([0] * 70 + [2] * 25 + [7] * 5)  # none of the others


def keys_of(order, passes):
    return np.concatenate(
        [order.window(each, part)[1] for each in passes for part in range(order.num_windows)]
    )


def test_each_round_has_each_class_once_and_each_turn_each_record():
    keys = keys_of(BalancedOrder(CLASSES, seed=3, window=16), range(6))

    rounds = CLASSES[keys[:, 1]].reshape(-1, 3)
    assert (np.sort(rounds, axis=1) == [0, 2, 7]).all()
    assert len({tuple(each) for each in rounds}) == 6  # in every order
    turns = {turn: set(keys[keys[:, 0] == turn][:, 1].tolist()) for turn in range(2)}
    assert turns == {0: set(range(100)), 1: set(range(100))}
    assert len({tuple(key) for key in keys}) == len(keys)


@pytest.mark.parametrize("window", [1, 7, 16, 1000])
def test_windows_do_not_matter(window):
    whole = keys_of(BalancedOrder(CLASSES, seed=3, window=100), range(3))

    np.testing.assert_array_equal(
        keys_of(BalancedOrder(CLASSES, seed=3, window=window), range(3)), whole
    )


@pytest.mark.parametrize("position", [0, 15, 16, 99])
def test_the_window_of_a_position_is_found_at_once(position):
    order = BalancedOrder(CLASSES, seed=1, window=16)
    whole = keys_of(BalancedOrder(CLASSES, seed=1, window=16), [1000])

    start, keys = order.window(1000, order.find(1000, position))

    np.testing.assert_array_equal(keys[position - start], whole[position])


def test_other_seeds_give_other_orders():
    one, other = (keys_of(BalancedOrder(CLASSES, seed=each, window=50), [0]) for each in (1, 2))

    assert (one != other).any()


def test_the_order_is_that_of_these_numbers_for_good():
    order = BalancedOrder(np.array([1, 0, 1, 1]), seed=7, window=4)

    assert keys_of(order, range(2)).tolist() == [
        [0, 1],
        [0, 3],
        [0, 2],
        [1, 1],
        [2, 1],
        [0, 0],
        [1, 0],
        [3, 1],
    ]
