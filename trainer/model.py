"""A network that `--model` names: a row of `tasks.models.MODELS`. Imports no TensorFlow."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

# The entry points by which other packages add models (docs/dev/own-source.md).
GROUP = "beam_tfrecords.models"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """A network for one or more kinds of tasks.

    Attributes:
        name: Value of `--model`. Networks for different kinds of tasks may share it.
        learns: Kinds of tasks, values of `--task`.
        build: Function from the task to a keras.Model that takes `task.inputs` and returns
            `task.output_shape`. If it `takes_weights`, its second argument is `--weights`.
        about: What it is, in a line.
        needs_image: Whether one of the inputs has to be an image.
        takes_weights: Whether `--weights` may be given.
    """

    name: str
    learns: Sequence[str]
    build: Callable[..., Any]
    about: str
    needs_image: bool = False
    takes_weights: bool = False
