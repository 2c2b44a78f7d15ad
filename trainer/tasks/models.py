"""The model of a task: ours, a branch an input, or the user's own function."""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.tasks.image_models import synchronize_batch_normalization
from trainer.tasks.inputs.numbers import Numbers, encode_together
from trainer.tasks.task import Task

_HIDDEN_UNITS = 128
# Groups whose branch hands on what it gets.
_PLAIN = ("numbers", "category")

ModelFn = Callable[[Task], keras.Model]


def branched(task: Task, name: str) -> keras.Model:
    """A branch an input, merged where there are several, and the head of the target."""
    inputs = _inputs(task)
    numbers = {name: each for name, each in task.inputs.items() if isinstance(each, Numbers)}
    branches = [
        each.encode(inputs[name]) for name, each in task.inputs.items() if name not in numbers
    ]
    if numbers:
        branches.append(encode_together([*numbers.values()], [inputs[name] for name in numbers]))
    x = branches[0] if len(branches) == 1 else keras.layers.Concatenate()(branches)
    if len(branches) > 1 or next(iter(task.inputs.values())).group in _PLAIN:
        for _ in range(2):
            x = keras.layers.Dense(_HIDDEN_UNITS, activation="relu")(x)
    return keras.Model(_as_taken(inputs), task.goal.head(x), name=name)


def from_function(task: Task, model_fn: ModelFn) -> keras.Model:
    """What the user's function makes of the task, once it is known to suit it.

    Batch normalisation is made to run over the whole global batch. What the function itself
    raises passes.

    Raises:
        ConfigError: It makes no model, or one that does not take the task's inputs, yields
            another number of outputs, or cannot be saved.
    """
    path = f"{model_fn.__module__}:{model_fn.__qualname__}"
    model = model_fn(task)
    if not isinstance(model, keras.Model):
        raise ConfigError(
            f"--model-fn {path} returned {type(model).__name__}; return a keras.Model"
        )
    inputs = _inputs(task)
    takes = ", ".join(f"{name} {each.dtype} {each.shape}" for name, each in inputs.items())
    try:
        outputs = model(_as_taken(inputs))
    except Exception as error:  # whatever the user's layers raise
        raise ConfigError(
            f"the model of --model-fn {path} does not take the task's inputs, {takes}: {error}"
        ) from error
    shape = getattr(outputs, "shape", None)
    if shape != (None, task.num_outputs):
        raise ConfigError(
            f"the model of --model-fn {path} yields {shape or outputs!r}, and the task needs "
            f"(None, {task.num_outputs}); end it in keras.layers.Dense(task.num_outputs)"
        )
    try:
        keras.saving.serialize_keras_object(model)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the model of --model-fn {path} cannot be saved: {error}; give its own layers a "
            "get_config, and register them by keras.saving.register_keras_serializable()"
        ) from error
    synchronize_batch_normalization(model)
    return model


def load(file: str | os.PathLike[str], model_fn: str | None) -> keras.Model:
    """The model that a run left.

    Args:
        file: A .keras file.
        model_fn: The function that made it, if not this package, as `find_function` takes it.

    Raises:
        ConfigError: Its layers are not known: the function's module cannot be imported.
    """
    if model_fn is not None:
        with contextlib.suppress(ConfigError):  # needed for layers of the user's own alone
            find_function(model_fn)
    try:
        return keras.models.load_model(file, compile=False)
    except (TypeError, ValueError) as error:
        # Keras tells the whole configuration before and behind what matters.
        _, _, said = str(error).rpartition("Exception encountered: ")
        said, _, _ = said.partition(" Full object config: ")
        raise ConfigError(
            f"{file} cannot be loaded: {said}; run where the module of its layers "
            f"({model_fn or 'keras'}) can be imported"
        ) from error


def find_function(path: str) -> ModelFn:
    """The function that `package.module:function` names; the working directory counts, too.

    Raises:
        ConfigError: There is none.
    """
    module_name, colon, name = path.partition(":")
    if not (module_name and colon and name):
        raise ConfigError(f"--model-fn {path} cannot be read; give package.module:function")
    directory = os.getcwd()
    sys.path.insert(0, directory)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"--model-fn {path}: {error}; run where {module_name} can be imported"
        ) from error
    finally:
        sys.path.remove(directory)
    function = getattr(module, name, None)
    if not callable(function):
        found = [each for each, value in vars(module).items() if callable(value)]
        raise ConfigError(
            f"--model-fn {path}: {module_name} has no function {name!r}; it has "
            f"{', '.join(sorted(found)) or 'none'}"
        )
    return function  # type: ignore[no-any-return]


def _inputs(task: Task) -> dict[str, Any]:
    return {
        name: keras.Input(each.shape, dtype=each.dtype, name=name)
        for name, each in task.inputs.items()
    }


def _as_taken(inputs: dict[str, Any]) -> Any:
    return inputs if len(inputs) > 1 else next(iter(inputs.values()))
