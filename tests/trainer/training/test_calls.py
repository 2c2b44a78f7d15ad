"""Calls of several steps: copies, sums, and starting the next call without waiting."""

import numpy as np
import pytest
import tensorflow as tf
from following import Follower
from tiers import first_in_ci

from trainer.training import loop


class Watcher(Follower):
    """Record the steps of calls, and how many steps the weights are ahead."""

    def __init__(self, plan, epochs, asked_after=None, sees_steps=False):
        super().__init__(plan, epochs)
        self.calls = []
        self.sees_steps = sees_steps
        self._asked_after = asked_after

    @property
    def is_asked_to_end(self):
        return self.step >= (self._asked_after or 1000)

    @property
    def is_done(self):
        return super().is_done or self.is_asked_to_end

    def advance(self, done):
        super().advance(done)
        ahead = int(self._plan.optimizer.iterations.numpy()) - self.step
        self.calls.append((done.steps, ahead, done.is_settled, done.ends))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {},
            [
                *[(3, 0, True, False), (3, 3, False, False), (3, 1, False, False)],
                (1, 0, True, False),
                *[(3, 3, False, False), (3, 3, False, False), (3, 1, False, False)],
                (1, 0, True, False),
            ],
            id="the first call compiles; at the end of an epoch the weights are its own",
        ),
        pytest.param(
            {"asked_after": 6},
            [(3, 0, True, False), (3, 3, False, False), (3, 0, True, True)],
            id="asked to end",
        ),
        pytest.param(
            {"sees_steps": True},
            [(1, 0, True, False)] * 20,
            id="callbacks of each step",
        ),
    ],
)
def test_the_next_call_is_begun_before_the_sums_of_the_last_are_read(
    make_plan, one_replica, options, expected
):
    plan = make_plan(one_replica, plan={"steps_per_call": 3})
    follower = Watcher(plan, range(2), **options)

    loop.run(plan, follower)

    assert follower.calls == expected


@pytest.mark.slow
@pytest.mark.parametrize("replicas", first_in_ci([1, 2]))
def test_history_and_weights_are_those_of_steps_one_by_one(make_plan, on_replicas, replicas):
    """Equal bit for bit, with calls of any length."""
    found = []
    for steps_per_call in (1, 4, 7):
        tf.config.experimental.enable_op_determinism()
        plan = make_plan(
            on_replicas(replicas), plan={"steps_per_call": steps_per_call, "times_input": False}
        )
        follower = Follower(plan, range(2))
        loop.run(plan, follower)
        weights = b"".join(weight.tobytes() for weight in plan.model.get_weights())
        found.append((weights, follower.history))
    sums = [[row for _, row in history] for _, history in found]

    assert len({weights for weights, _ in found}) == 1
    for rows in sums[1:]:  # sums of calls, in float32
        for row, other in zip(rows, sums[0], strict=True):
            np.testing.assert_allclose([*row.values()], [*other.values()], rtol=1e-6)
