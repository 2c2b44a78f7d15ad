"""Calls of several steps: copies, sums, and starting the next call without waiting."""

import numpy as np
import pytest
import tensorflow as tf
from following import Follower
from tiers import first_in_ci

from trainer.training import loop


@pytest.fixture(scope="module")
def plan(make_plan):
    """Two replicas on devices other than the host's, /cpu:0."""
    strategy = tf.distribute.MirroredStrategy(
        ["/cpu:1", "/cpu:2"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    return make_plan(strategy)


@pytest.fixture(scope="module")
def steps(plan):
    """Operations of the loop over steps in the graph: {name: operation}."""
    batches = iter(plan.distributed_batches(0))
    call = loop.train_function(plan).get_concrete_function(
        batches, tf.constant(2), tf.constant(0.0)
    )
    functions = call.graph.as_graph_def().library.function
    (body,) = [function for function in functions if "while_body" in function.signature.name]
    return {each.name: each for each in body.node_def}


def sources(steps, operation):
    """Operations whose values `operation` takes, without control inputs."""
    names = [each.partition(":")[0] for each in operation.input if not each.startswith("^")]
    return [steps[name] for name in names if name in steps]


@pytest.mark.slow
def test_batches_come_as_bytes_and_only_sums_are_copied_to_the_host(steps):
    batches = [step for step in steps.values() if step.op == "IteratorGetNext"]
    on_host = [step for step in steps.values() if step.device.endswith("/device:CPU:0")]

    assert [batch.attr["output_types"].list.type[0] for batch in batches] == [
        tf.uint8.as_datatype_enum
    ] * 2
    assert sorted(each.op for each in on_host) == ["Identity", "Timestamp", "Timestamp"]
    assert [sources(steps, each) for each in on_host] == [[], [], []]
    (copied,) = [each for each in on_host if each.op == "Identity"]
    (taken,) = copied.input  # the loop's state
    updated = [step for step in steps.values() if step.op == "TensorScatterUpdate"]
    assert taken in updated[0].input
    assert [each.attr["T"].type for each in [copied, *updated]] == [tf.float32.as_datatype_enum] * 3


def test_in_each_step_replicas_add_up_only_their_gradients(plan, steps):
    def devices(operation):
        return {source.device[-5:] for source in sources(steps, operation)}

    added = [step for step in steps.values() if {"CPU:1", "CPU:2"} <= devices(step)]

    assert [each.op for each in added] == ["AddN"] * len(plan.model.trainable_variables)


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
