"""The part of training that depends on the inputs and the target."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from trainer.augmentation import Augmentation
from trainer.errors import ConfigError
from trainer.metrics import Metric
from trainer.parsing import Decoding, Tensors
from trainer.tasks.inputs import AudioInput, ImageInput, Input, single_or_dict
from trainer.tasks.targets import PerExample, Target
from trainer.tensors import converted, positive, unconverted
from trainer.views import Views


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """The inputs, target, loss and metrics of a training.

    Attributes:
        name: Name by kinds of inputs and target, such as "audio_classification".
        inputs: Inputs by name in the model, which takes a single one as a tensor, several as a
            dict: `keras.Input(input.shape, dtype=input.dtype, name=name)` for each.
        goal: The target.
        sample_weight: Feature that weights each record's loss in training, or None.
        augment: One of the target's `policies`.
        loss_fn: The user's function from (target, outputs) to the loss of each example, float32
            [b]; or None.
        more_metrics: Metrics of the user and of other packages, in addition to the target's.
    """

    name: str
    inputs: Mapping[str, Input]
    goal: Target
    sample_weight: str | None = None
    augment: str = "none"
    loss_fn: PerExample | None = None
    more_metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)

    @property
    def target(self) -> str:
        """Name of the target feature."""
        return self.goal.name

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of the model's outputs; empty if the target is numbers."""
        return self.goal.classes

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the model's output for one record, float32."""
        return self.goal.output_shape

    @property
    def num_outputs(self) -> int:
        """Size of the last axis of the model's output."""
        return self.output_shape[-1]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the inputs and the target."""
        return (*(each.name for each in self.inputs.values()), self.target)

    @property
    def training_features(self) -> tuple[str, ...]:
        """`features`, and the sample weight if there is one."""
        weights = () if self.sample_weight is None else (self.sample_weight,)
        return (*self.features, *weights)

    @property
    def images(self) -> list[ImageInput]:
        """Inputs that are images."""
        return [each for each in self.inputs.values() if isinstance(each, ImageInput)]

    @property
    def decoding(self) -> Decoding:
        """Decoding of images and audio in the input pipeline."""
        return Decoding(
            image_size=self.images[0].image_size if self.images else None,
            image_dtype="uint8",  # transfers a quarter of the bytes to the device
            views=Views(letterbox=True) if self.goal.keeps_aspect and self.images else None,
            audio_mono=True,  # before padding of samples or channels
            audio_sample_rates={
                each.name: each.sample_rate
                for each in self.inputs.values()
                if isinstance(each, AudioInput)
            },
        )

    @property
    def unit(self) -> str:
        """Name of a record in messages."""
        return "images" if self.images else "records"

    @property
    def metrics(self) -> Mapping[str, PerExample]:
        """Metrics by name; each is a mean over examples."""
        own = {
            name: converted(each.of_examples)
            for name, each in self.more_metrics.items()
            if each.of_examples is not None
        }
        return {**self.goal.metrics, **own}

    @property
    def augmentation(self) -> Augmentation:
        """Augmentation of the images of training records."""
        chosen, views = self.goal.policies[self.augment], self.decoding.views
        if chosen.views is not None:
            views = dataclasses.replace(chosen.views, letterbox=views is not None)
        return dataclasses.replace(chosen, views=views)

    def windows(self, columns: Mapping[str, Any]) -> Any:
        """Return the part of each image in the model's input, float32 [b, 4]; None for all."""
        return None if self.decoding.views is None else columns[self.images[0].window]

    def loss(self, target: Any, outputs: Any) -> Any:
        """Return the loss of each example, float32 [b]."""
        if self.loss_fn is None:
            return self.goal.loss(target, outputs)
        loss = converted(self.loss_fn)(target, outputs)
        if loss.shape.rank != 1:
            raise ConfigError(
                f"the loss function returned the shape {loss.shape}; return the loss of each "
                "example, [batch], as a keras.losses.Loss with reduction=None does"
            )
        return loss

    def host_step(self) -> Callable[[Tensors], tuple[Any, ...]]:
        """Return the function that prepares batches in the input pipeline, on the CPU.

        It takes parsed columns by name, and returns (inputs, target) or (inputs, target, weight);
        it fails on unsuitable values.
        """
        inputs_step, target_step = self.inputs_step(), self.goal.host_step()

        @unconverted
        def step(columns: Tensors) -> tuple[Any, ...]:
            prepared = inputs_step(columns), target_step(columns)
            if self.sample_weight not in columns:
                return prepared
            weight = tf.cast(columns[self.sample_weight], tf.float32)
            return *prepared, positive(self.sample_weight, weight)

        return step

    def inputs_step(self) -> Callable[[Tensors], Tensors]:
        """Return the part of `host_step` that prepares the inputs, by name in the model."""
        steps = {name: each.host_step() for name, each in self.inputs.items()}
        return lambda columns: {
            name: step(columns[self.inputs[name].name]) for name, step in steps.items()
        }

    def prepare(self, inputs: Tensors) -> Any:
        """Convert inputs of the pipeline to those of the model; runs on the device."""
        prepared = {name: each.prepare(inputs[name]) for name, each in self.inputs.items()}
        return single_or_dict(prepared)
