"""Interface of a training loop's follower, which is called after each call of steps."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol


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
