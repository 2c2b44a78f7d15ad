"""Training loop with GradientTape under `strategy.run`, several steps per `tf.function`."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from trainer.errors import ConfigError
from trainer.tasks.task import Task
from trainer.tensors import unconverted
from trainer.training.gradients import clipped, with_overflow
from trainer.training.optimizers import frozen, inner_optimizer
from trainer.training.strategy import distributed, has_other_workers


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Completed steps.

    Only if the steps are settled (no later step has begun) do the weights belong to these steps,
    and can be saved and validated.
    """

    steps: int
    sums: Sequence[float]  # over all examples, in the order of `metric_names`
    learning_rate: float  # for the next step
    diverged: tuple[int, float] | None = None  # number, from 1, and first loss that is not finite
    ends: bool = False  # a worker was asked to stop before these steps; same on all workers
    waiting_s: float | None = None  # for batches; None if not measured
    is_settled: bool = True


class Follower(Protocol):
    """Follower of a training, such as `Recorder`; `step` is the number of completed steps."""

    step: int

    @property
    def is_asked_to_end(self) -> bool:
        """Whether this process was asked to stop."""

    @property
    def sees_steps(self) -> bool:
        """Whether it sees each step, since a callback has a hook of batches."""

    @property
    def is_done(self) -> bool:
        """Whether training stops here."""

    def steps_to_event(self) -> int:
        """Number of steps to the follower's next action, at least 1; those steps are settled."""

    def begin(self) -> None:
        """Handle the start of a step, or of several unless `sees_steps`."""

    def advance(self, done: Done) -> None:
        """Handle completed steps."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Configuration of a training loop; model and optimizer are built in the strategy's scope.

    `batches` takes `first_record`, the number of records used so far, and with several workers
    `worker` and `num_workers`. It returns an endless dataset of the worker's parts of the next
    global batches: (inputs, target), or (inputs, target, weight).
    """

    task: Task
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    strategy: tf.distribute.Strategy
    batches: Callable[..., tf.data.Dataset]
    batch_size: int  # over all replicas
    steps_per_epoch: int
    steps_per_call: int = 8  # of a `tf.function`
    schedule: Callable[[float], Any] | None = None  # learning rate by step; None if constant
    backbones: Sequence[keras.Model] = ()  # with pretrained weights
    head_steps: int = 0  # first steps with the backbones frozen
    clip_norm: float | None = None  # largest global norm of the gradients, over all replicas
    seed_layers: Callable[[], None] = lambda: None  # in each step, on each replica
    times_input: bool = True  # measure waiting for batches; deterministic runs cannot

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


def run(plan: TrainingPlan, follower: Follower) -> None:
    """Train from the follower's step until it stops the training."""
    batches = iter(plan.distributed_batches(follower.step))
    if follower.step < plan.head_steps:
        _train(plan, follower, batches, plan.backbones, plan.head_steps)
    _train(plan, follower, batches)


def _train(
    plan: TrainingPlan,
    follower: Follower,
    batches: Any,
    frozen_layers: Sequence[keras.Model] = (),
    last_step: int | None = None,
) -> None:
    train_steps = train_function(plan, frozen_layers)

    def begin(steps: int) -> _Call:
        follower.begin()
        asked = tf.constant(float(follower.is_asked_to_end))
        return _Call(steps, *train_steps(batches, tf.constant(steps), asked))

    steps_per_call = 1 if follower.sees_steps else plan.steps_per_call
    is_first = True  # compiles, so it is measured separately
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

    def done(self, plan: TrainingPlan, *, is_settled: bool = True, ends: bool = False) -> Done:
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
    plan: TrainingPlan, frozen_layers: Sequence[keras.Model] = ()
) -> Callable[[Any, Any, Any], Any]:
    """Make the function (iterator of distributed batches, number of steps, asked) that trains.

    It returns each step's sums over the examples of all replicas, float32 [steps, 1 + metrics], in
    the order of `metric_names`; the sum of `asked` over the replicas; the seconds of waiting for
    batches, float64; and the next step's learning rate. Frozen layers are not trained.
    """
    strategy, step = plan.strategy, _step_function(plan)

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
                # Fetching a batch during a step does not count as waiting.
                since = _time_of(sums) if plan.times_input else waiting_s
                batch = next(batches)
                if plan.times_input:
                    waiting_s += tf.maximum(_time_after(batch) - since, 0.0)
                sums = strategy.run(step_of_call, args=(sums, number, *batch))
        asked = total(strategy.run(tf.identity, args=(asked,)))
        rate = tf.convert_to_tensor(inner_optimizer(plan.optimizer).learning_rate)
        return total(sums), asked, waiting_s, rate

    return tf.function(train_steps)  # type: ignore[no-any-return]


def _step_function(plan: TrainingPlan) -> Callable[..., Any]:
    """Make one step of a replica: it applies its batch's gradients, summed over the replicas.

    It takes (inputs, target, weight) and returns the sums over the batch's examples. Weights
    affect only the loss.
    """
    task, model, optimizer = plan.task, plan.model, plan.optimizer
    scales_loss = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)

    @unconverted
    def step(inputs: Any, target: Any, weight: Any = None) -> Any:
        plan.seed_layers()
        target = task.goal.with_totals(target)
        with tf.GradientTape() as tape:
            outputs = model(task.prepare(inputs), training=True)
            losses = task.loss(target, outputs)
            if weight is not None:
                losses *= weight
            # Divided by the global batch size regardless of weights, as in `Model.fit`, so the sum
            # over replicas is the global mean.
            loss = tf.nn.compute_average_loss(losses, global_batch_size=plan.batch_size)
            if model.losses:
                penalty = tf.add_n(model.losses)
                loss += penalty / plan.strategy.num_replicas_in_sync
                losses += penalty
            loss = optimizer.scale_loss(loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        if all(gradient is None for gradient in gradients):
            raise ConfigError(
                "the loss does not depend on the model's weights; compute it from the model's "
                "outputs, and give the model trainable weights"
            )
        sums = example_sums(task, losses, target, outputs)
        if plan.clip_norm is not None:
            gradients = clipped(gradients, optimizer.scale_loss(plan.clip_norm))
        elif scales_loss:
            gradients = with_overflow(gradients)
        optimizer.apply(gradients, model.trainable_variables)  # sums over the replicas
        return sums

    return step


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


def example_sums(task: Task, losses: Any, target: Any, outputs: Any, mask: Any = None) -> Any:
    """Sum over the examples where `mask` is 1, float32 [1 + metrics], as `metric_names`."""
    columns = [losses, *(metric(target, outputs) for metric in task.metrics.values())]
    values = tf.stack([tf.cast(column, tf.float32) for column in columns])  # [1 + metrics, b]
    if mask is not None:  # not by multiplication: padding may produce NaN
        values = tf.where(mask > 0, values, 0.0)
    return tf.reduce_sum(values, axis=1)
