"""Models and other functions of the user."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import keras

from tfrecord_dataset.foreign_errors import place_of
from trainer.errors import ConfigError
from trainer.tasks.inputs import keras_inputs, single_or_dict
from trainer.tasks.task import Task

ModelFn = Callable[[Task], keras.Model]


def model_from_function(task: Task, model_fn: ModelFn, path: str | None = None) -> keras.Model:
    """Call the user's function for a model of the task, and check the result.

    Outputs of other dtypes, as in mixed precision, are cast to float32 for the loss. Errors of the
    function itself are not caught. Messages name it as `path`.

    Raises:
        ConfigError: The function does not return a model, or the model does not take the task's
            inputs, has another number of outputs, or cannot be saved.
    """
    path = path or path_of(model_fn)
    try:
        model = model_fn(task)
    except (Exception, SystemExit) as error:  # such as of sys.exit
        if place_of(error):
            raise
        raise ConfigError(f"--model-fn {path} makes no model of a task: {error}") from error
    if not isinstance(model, keras.Model):
        raise ConfigError(
            f"--model-fn {path} returned {type(model).__name__}; return a keras.Model"
        )
    inputs = keras_inputs(task.inputs)
    layer = "; end it with keras.layers.Dense(task.num_outputs)"
    remedy = layer if len(task.output_shape) == 1 else ""
    outputs = outputs_of(model, inputs, task, f"the model of --model-fn {path}", remedy)
    try:
        keras.saving.serialize_keras_object(model)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the model of --model-fn {path} cannot be saved: {error}; give its own layers a "
            "get_config method, and register them with keras.saving.register_keras_serializable()"
        ) from error
    if outputs.dtype == "float32":
        return model
    outputs = keras.layers.Activation("linear", dtype="float32", name="in_float32")(outputs)
    return keras.Model(single_or_dict(inputs), outputs, name=model.name)


def outputs_of(
    model: keras.Model, inputs: dict[str, Any], task: Task, what: str, remedy: str = ""
) -> Any:
    """Return the outputs of a model for `keras_inputs` of a task, as Keras tensors.

    Raises:
        ConfigError: The model does not take the inputs, or has another number of outputs. `what`
            names the model in the message, and `remedy` is its advice.
    """
    try:
        outputs = model(single_or_dict(inputs))
    except Exception as error:  # layers raise various types
        takes = ", ".join(f"{name} {each.dtype} {each.shape}" for name, each in inputs.items())
        raise ConfigError(f"{what} does not take the task's inputs, {takes}: {error}") from error
    shape = getattr(outputs, "shape", None)
    if shape != (None, *task.output_shape):
        raise ConfigError(
            f"{what} returns {shape or outputs!r}, but the task needs "
            f"{(None, *task.output_shape)}{remedy}"
        )
    return outputs


def find_function(path: str, option: str = "--model-fn") -> Callable[..., Any]:
    """Import the function `package.module:function`, perhaps from the working directory.

    Raises:
        ConfigError: The function does not exist.
    """
    module_name, colon, name = path.partition(":")
    if not (module_name and colon and name):
        raise ConfigError(f"{option} {path} cannot be read; give package.module:function")
    directory = os.getcwd()
    sys.path.insert(0, directory)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"{option} {path}: {error}; run where {module_name} can be imported"
        ) from error
    finally:
        sys.path.remove(directory)
    function = getattr(module, name, None)
    if not callable(function):
        names = [each for each, value in vars(module).items() if callable(value)]
        raise ConfigError(
            f"{option} {path}: {module_name} has no function {name!r}; it has "
            f"{', '.join(sorted(names)) or 'none'}"
        )
    return function  # type: ignore[no-any-return]


def path_of(part: Any) -> str:
    """Return `package.module:function` for a function, or for another object its type."""
    if hasattr(part, "__qualname__"):
        return f"{part.__module__}:{part.__qualname__}"
    return f"an object of {type(part).__module__}.{type(part).__qualname__}"
