"""Training loop with GradientTape under `strategy.run`, several steps per `tf.function`."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from trainer.autograph import unconverted
from trainer.errors import ConfigError
from trainer.tasks.task import Task
from trainer.training.fine_tuning import frozen
from trainer.training.optimizers import inner_optimizer
from trainer.training.strategy import distributed, has_other_workers


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Completed steps.

    Attributes:
        steps: Number of steps.
        sums: Sums over all examples of these steps, in the order of `loop.metric_names`.
        learning_rate: Learning rate of the next step.
        diverged: Number, from 1, and loss of the first step with a non-finite loss; or None.
        ends: Whether a worker was asked to stop before these steps; equal on all workers.
        waiting_s: Seconds that the steps waited for batches; None if not measured.
        is_settled: Whether no later step has begun: only then do the weights belong to these
            steps and can be saved and validated.
    """

    steps: int
    sums: Sequence[float]
    learning_rate: float
    diverged: tuple[int, float] | None = None
    ends: bool = False
    waiting_s: float | None = None
    is_settled: bool = True


class Follower(Protocol):
    """Follower of a training; `recording.Recorder` is one.

    Attributes:
        step: Number of completed steps.
        is_asked_to_end: Whether this process was asked to stop.
        sees_steps: Whether it needs each step, as a callback's `on_train_batch_end` does.
    """

    step: int

    @property
    def is_asked_to_end(self) -> bool: ...

    @property
    def sees_steps(self) -> bool: ...

    @property
    def is_done(self) -> bool:
        """Whether training stops here."""

    def steps_to_event(self) -> int:
        """Number of steps to the follower's next action, at least 1; those steps are settled."""

    def advance(self, done: Done) -> None:
        """Process completed steps."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Configuration of a training loop.

    Attributes:
        task: Loss, metrics, and preparation of inputs on the device.
        model: Model created in the strategy's scope.
        optimizer: Optimizer created and built in the strategy's scope.
        strategy: Strategy of the replicas.
        batches: Takes `first_record`, the number of records used so far, and with several workers
            `worker` and `num_workers`; returns an endless dataset of the worker's parts of the next
            global batches: (inputs, target), or (inputs, target, weight).
        batch_size: Examples per step over all replicas.
        steps_per_epoch: Steps per epoch.
        steps_per_call: Steps per call of a `tf.function`; more steps reduce the overhead between
            calls (Python, progress).
        backbones: Parts of the model with pretrained weights.
        head_steps: Number of first steps with the backbones frozen.
        times_input: Whether to measure how long steps wait for batches, which TensorFlow does not
            support in deterministic runs.
    """

    task: Task
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    strategy: tf.distribute.Strategy
    batches: Callable[..., tf.data.Dataset]
    batch_size: int
    steps_per_epoch: int
    steps_per_call: int = 8
    backbones: Sequence[keras.Model] = ()
    head_steps: int = 0
    times_input: bool = True

    def batches_from(self, step: int) -> tf.data.Dataset:
        """Return the global batches after `step` steps."""
        return self.batches(first_record=step * self.batch_size)

    @property
    def has_other_workers(self) -> bool:
        """Whether there are other worker processes."""
        return has_other_workers(self.strategy)

    def distributed_batches(self, step: int) -> Any:
        """Distribute the batches after `step` steps in equal parts to all replicas."""
        after = functools.partial(self.batches, first_record=step * self.batch_size)
        return distributed(self.strategy, after, self.batch_size)


def run(plan: Plan, follower: Follower) -> None:
    """Train from the follower's step until it stops the training."""
    batches = iter(plan.distributed_batches(follower.step))
    if follower.step < plan.head_steps:
        _train(plan, follower, batches, plan.backbones, plan.head_steps)
    _train(plan, follower, batches)


def _train(
    plan: Plan,
    follower: Follower,
    batches: Any,
    frozen_layers: Sequence[keras.Model] = (),
    last_step: int | None = None,
) -> None:
    train_steps = train_function(plan, frozen_layers)

    def begin(steps: int) -> _Call:
        asked = tf.constant(float(follower.is_asked_to_end))
        return _Call(steps, *train_steps(batches, tf.constant(steps), asked))

    steps_per_call = 1 if follower.sees_steps else plan.steps_per_call
    is_first = True  # compiles, and is measured separately
    while not follower.is_done and (last_step is None or follower.step < last_step):
        left = follower.steps_to_event()
        if last_step is not None:
            left = min(left, last_step - follower.step)
        call = begin(min(steps_per_call, left))
        left -= call.steps
        ends = False
        while left and not (ends or is_first or follower.sees_steps):
            # The device gets its next steps before the sums of the last ones are read.
            following = begin(min(steps_per_call, left))
            left -= following.steps
            follower.advance(call.done(plan, is_settled=False))
            ends = call.ends or (follower.is_asked_to_end and not plan.has_other_workers)
            call = following
        follower.advance(call.done(plan, ends=ends))
        is_first = False


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    """Steps in flight, with the results of `train_function`."""

    steps: int
    sums: Any
    asked: Any
    waiting_s: Any
    learning_rate: Any

    @property
    def ends(self) -> bool:
        """Whether a worker was asked to stop before these steps; waits for them."""
        return float(self.asked) > 0

    def done(self, plan: Plan, *, is_settled: bool = True, ends: bool = False) -> Done:
        """Wait for the call and return its result."""
        by_step = self.sums.numpy()
        sums = functools.reduce(np.add, by_step)  # in order, in float32
        diverged = np.flatnonzero(~np.isfinite(by_step[:, 0]))[:1].tolist()
        return Done(
            steps=self.steps,
            sums=sums.tolist(),
            learning_rate=float(self.learning_rate),
            diverged=(diverged[0] + 1, float(by_step[diverged[0], 0])) if diverged else None,
            ends=ends or self.ends,
            waiting_s=float(self.waiting_s) if plan.times_input else None,
            is_settled=is_settled,
        )


def metric_names(task: Task) -> list[str]:
    """Names of the sums that steps return, in order."""
    return ["loss", *task.metrics]


def train_function(
    plan: Plan, frozen_layers: Sequence[keras.Model] = ()
) -> Callable[[Any, Any, Any], Any]:
    """Make the function (iterator of distributed batches, number of steps, asked) that trains.

    It returns the sums over all examples of each of those steps, float32 [steps, 1 + metrics], in
    the order of `metric_names`, added over the replicas; the sum of `asked` over the replicas; the
    seconds that steps waited for batches, float64; and the learning rate of the next step. Frozen
    layers are not trained.
    """
    strategy, step = plan.strategy, Step(plan)

    def step_of_call(sums: Any, number: Any, *batch: Any) -> Any:
        """Add this step's sums to a replica's sums of the call."""
        return tf.tensor_scatter_nd_update(sums, [[number]], [step(*batch)])

    def total(by_replica: Any) -> Any:
        return strategy.reduce(tf.distribute.ReduceOp.SUM, by_replica, axis=None)

    def train_steps(batches: Any, steps: Any, asked: Any) -> Any:
        sums = strategy.run(lambda: tf.zeros([steps, len(metric_names(plan.task))]))
        waiting_s = tf.zeros([], tf.float64)
        with frozen(frozen_layers):  # during tracing
            for number in tf.range(steps):
                # A batch that is fetched during a step does not count as waiting.
                since = _time_of(sums) if plan.times_input else waiting_s
                batch = next(batches)
                if plan.times_input:
                    waiting_s += tf.maximum(_time_after(batch) - since, 0.0)
                sums = strategy.run(step_of_call, args=(sums, number, *batch))
        asked = total(strategy.run(tf.identity, args=(asked,)))
        rate = tf.convert_to_tensor(inner_optimizer(plan.optimizer).learning_rate)
        return total(sums), asked, waiting_s, rate

    compiled: Callable[[Any, Any, Any], Any] = tf.function(train_steps)
    return compiled


class Step:
    """One step of a replica: applies its batch's gradients, summed over the replicas.

    Called with a batch, returns the sums over its examples. Weights affect only the loss.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._scales_loss = isinstance(plan.optimizer, keras.optimizers.LossScaleOptimizer)
        if self._scales_loss:
            _sum_before_scaling(plan.optimizer)

    @unconverted
    def __call__(self, inputs: Any, target: Any, weight: Any = None) -> Any:
        gradients, sums = self.gradients(inputs, target, weight)
        self.apply(gradients)
        return sums

    def gradients(self, inputs: Any, target: Any, weight: Any = None) -> tuple[Any, Any]:
        """Return the gradients of the replica's share of the global mean, and the sums."""
        plan, model = self._plan, self._plan.model
        target = plan.task.goal.with_totals(target)
        with tf.GradientTape() as tape:
            outputs = model(plan.task.prepare(inputs), training=True)
            losses = plan.task.loss(target, outputs)
            if weight is not None:
                losses *= weight
            # Divided by the global batch size regardless of weights, as in `Model.fit`, so the sum
            # over replicas is the global mean.
            loss = tf.nn.compute_average_loss(losses, global_batch_size=plan.batch_size)
            if model.losses:
                penalty = tf.add_n(model.losses)
                loss += penalty / plan.strategy.num_replicas_in_sync
                losses += penalty
            loss = plan.optimizer.scale_loss(loss) if self._scales_loss else loss
        gradients = tape.gradient(loss, model.trainable_variables)
        if all(gradient is None for gradient in gradients):
            raise ConfigError(
                "the loss does not depend on the model's weights; compute it from the model's "
                "outputs, and give the model trainable weights"
            )
        return gradients, example_sums(plan.task, losses, target, outputs)

    def apply(self, gradients: Any) -> None:
        """Sum the gradients over the replicas, clip them (optimizers.py), and update."""
        if self._scales_loss:
            # An overflow on one replica counts for all of them.
            context = tf.distribute.get_replica_context()
            gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        self._plan.optimizer.apply(gradients, self._plan.model.trainable_variables)


def _time_of(sums: Any) -> Any:
    """Return a timestamp, float64 [] in seconds, once a replica's few sums are computed."""
    with tf.device("/cpu:0"):
        return _time_after(tf.identity(_first(sums)))


def _time_after(values: Any) -> Any:
    """Return a timestamp, float64 [] in seconds, once `values` are available on their device."""
    with tf.control_dependencies([_first(values)]), tf.device("/cpu:0"):
        return tf.timestamp()


def _first(values: Any) -> Any:
    return tf.nest.flatten(values, expand_composites=True)[0]


def _sum_before_scaling(optimizer: keras.optimizers.LossScaleOptimizer) -> None:
    """Let the inner optimizer accept gradients that are already summed over the replicas.

    Keras checks for overflow on the first replica only, before its own sum.
    """
    inner = optimizer.inner_optimizer
    clip = getattr(inner, "clip", lambda gradients: gradients)
    inner._all_reduce_sum_gradients = lambda gradients_and_variables: clip(
        list(gradients_and_variables)
    )


def example_sums(task: Task, losses: Any, target: Any, outputs: Any, mask: Any = None) -> Any:
    """Sum over the examples where `mask` is 1, float32 [1 + metrics], as `metric_names`."""
    columns = [losses, *(metric(target, outputs) for metric in task.metrics.values())]
    values = tf.stack([tf.cast(column, tf.float32) for column in columns])  # [1 + metrics, b]
    if mask is not None:  # not by multiplication: padding may produce NaN
        values = tf.where(mask > 0, values, 0.0)
    return tf.reduce_sum(values, axis=1)
