"""A task: the part of training that depends on what is learned, and from what."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from trainer.tasks.checks import positive
from trainer.tasks.inputs import Input
from trainer.tasks.targets import PerExample, Target


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """Inputs, model, loss and metrics of one kind of learning.

    Attributes:
        name: In `--task`.
        inputs: By their names in the model, which takes the only one as it is, several as a
            dict: `keras.Input(input.shape, dtype=input.dtype, name=name)` of each.
        goal: What is learned.
        sample_weight: The feature that weighs each record's loss in training, or None.
    """

    name: str
    inputs: Mapping[str, Input]
    goal: Target
    sample_weight: str | None = None

    @property
    def target(self) -> str:
        """The name of the feature that is learned."""
        return self.goal.name

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in the order of the model's outputs; none where numbers are learned."""
        return self.goal.classes

    @property
    def num_outputs(self) -> int:
        """Of the model, which yields float32 [b, num_outputs]."""
        return self.goal.num_outputs

    @property
    def features(self) -> tuple[str, ...]:
        """The inputs and the target."""
        return (*(each.name for each in self.inputs.values()), self.target)

    @property
    def metrics(self) -> Mapping[str, PerExample]:
        """Metrics by name; each is a mean over examples."""
        return self.goal.metrics

    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""
        return self.goal.loss(target, outputs)

    def host_step(self) -> Callable[..., tuple[Any, ...]]:
        """The function that batches go through in the input pipeline, on the CPU.

        It takes (inputs, target), or (inputs, target, weight), as `Dataset.batches` yields
        them, and fails on a batch that cannot be learned from.
        """
        steps = {name: each.host_step() for name, each in self.inputs.items()}
        checked = self.goal.host_step()

        def step(inputs: Any, target: Any, *weights: Any) -> tuple[Any, ...]:
            weight = [positive(self.sample_weight, each) for each in weights]
            if len(steps) == 1:
                (only,) = steps.values()
                return only(inputs), checked(target), *weight
            done = {name: step(inputs[self.inputs[name].name]) for name, step in steps.items()}
            return done, checked(target), *weight

        return step

    def prepare(self, inputs: Any) -> Any:
        """Runs on the device: turns what the pipeline yields into what the model takes."""
        if len(self.inputs) == 1:
            (only,) = self.inputs.values()
            return only.prepare(inputs)
        return {name: each.prepare(inputs[name]) for name, each in self.inputs.items()}
