"""A task: the part of training that depends on the inputs and the target."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from trainer.tasks.checks import positive
from trainer.tasks.inputs import Input
from trainer.tasks.targets import PerExample, Target


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """The inputs, target, loss and metrics of a training.

    Attributes:
        name: In `--task`.
        inputs: By their names in the model, which takes a single one as a tensor, several as a
            dict: `keras.Input(input.shape, dtype=input.dtype, name=name)` of each.
        goal: The target.
        sample_weight: The feature that weights each record's loss in training, or None.
    """

    name: str
    inputs: Mapping[str, Input]
    goal: Target
    sample_weight: str | None = None

    @property
    def target(self) -> str:
        """The name of the target feature."""
        return self.goal.name

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in the order of the model's outputs; none if the target is numbers."""
        return self.goal.classes

    @property
    def num_outputs(self) -> int:
        """Of the model, which returns float32 [b, num_outputs]."""
        return self.goal.num_outputs

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the inputs and the target."""
        return (*(each.name for each in self.inputs.values()), self.target)

    @property
    def metrics(self) -> Mapping[str, PerExample]:
        """Metrics by name; each is a mean over examples."""
        return self.goal.metrics

    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""
        return self.goal.loss(target, outputs)

    def host_step(self) -> Callable[..., tuple[Any, ...]]:
        """The function that prepares batches in the input pipeline, on the CPU.

        It takes (inputs, target), or (inputs, target, weight), from `Dataset.batches`,
        and fails on a batch with unsuitable values.
        """
        steps = {name: each.host_step() for name, each in self.inputs.items()}
        target_step = self.goal.host_step()

        def step(inputs: Any, target: Any, *weights: Any) -> tuple[Any, ...]:
            weight = [positive(self.sample_weight, each) for each in weights]
            if len(steps) == 1:
                (only,) = steps.values()
                return only(inputs), target_step(target), *weight
            prepared = {name: step(inputs[self.inputs[name].name]) for name, step in steps.items()}
            return prepared, target_step(target), *weight

        return step

    def prepare(self, inputs: Any) -> Any:
        """Turns batches of the pipeline into inputs of the model; runs on the device."""
        if len(self.inputs) == 1:
            (only,) = self.inputs.values()
            return only.prepare(inputs)
        return {name: each.prepare(inputs[name]) for name, each in self.inputs.items()}
