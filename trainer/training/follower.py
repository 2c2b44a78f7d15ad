"""What follows a training loop call by call, and what it is told."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Steps that are done.

    Attributes:
        steps: How many.
        sums: Over all examples of these steps, in the order of `loop.metric_names`.
        learning_rate: Of the step after them.
        diverged: The first of them whose loss is not finite, from 1, and that loss; or None.
        ends: Whether a worker was asked to end before them; all are told alike.
        waiting_s: Seconds in which they waited for their batches; None if that was not measured.
        is_settled: Whether no later step was begun: only then are the weights those after these
            steps, so that they may be saved and validated.
    """

    steps: int
    sums: Sequence[float]
    learning_rate: float
    diverged: tuple[int, float] | None = None
    ends: bool = False
    waiting_s: float | None = None
    is_settled: bool = True


class Follower(Protocol):
    """Follows a training call by call; `recording.Recorder` is one.

    Attributes:
        step: Steps done.
        is_asked_to_end: Whether this process was told to end.
        sees_steps: Whether it looks at each step, as a callback's `on_train_batch_end` does.
    """

    step: int

    @property
    def is_asked_to_end(self) -> bool: ...

    @property
    def sees_steps(self) -> bool: ...

    @property
    def is_done(self) -> bool:
        """Whether training ends here."""

    def steps_to_event(self) -> int:
        """Steps until the follower has something to do, at least 1; those are settled."""

    def advance(self, done: Done) -> None:
        """Counts steps that are done."""
