"""What a task is: the part of training that depends on what is learned."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import keras

# (target, the model's outputs) -> one value an example, float32 [b].
PerExample = Callable[[Any, Any], Any]


class Task(Protocol):
    """Inputs, model, loss and metrics of one kind of learning."""

    name: ClassVar[str]  # in `--task`

    @property
    def features(self) -> tuple[str, ...]:
        """The features that are read."""

    @property
    def target(self) -> str:
        """The output that is learned."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in the order of the model's outputs."""

    def loss(self, target: Any, outputs: Any) -> Any:
        """The loss of each example, float32 [b]."""

    @property
    def metrics(self) -> Mapping[str, PerExample]:
        """Metrics by name; each is a mean over examples."""

    def check(self, inputs: Any, target: Any) -> tuple[Any, Any]:
        """Runs in the input pipeline: fails on a batch that cannot be learned from."""

    def prepare(self, inputs: Any) -> Any:
        """Runs on the device: turns what the pipeline yields into what the model takes."""

    def build_model(
        self, name: str, image_size: tuple[int, int], weights: str | None
    ) -> keras.Model:
        """The model called `name`."""
