"""The networks that `--model` names: this package's, Keras's, and those of other packages."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras

from tfrecord_dataset import plugins
from tfrecord_dataset.foreign_errors import place_of
from trainer.errors import ConfigError, UnknownNameError
from trainer.model import GROUP, Model
from trainer.task_kinds import CLASSIFICATION, DETECTION, REGRESSION, SEGMENTATION
from trainer.tasks import detection, networks, pretrained
from trainer.tasks.inputs import encode_inputs, keras_inputs, single_or_dict
from trainer.tasks.inputs.image import check_images, check_size, only_image
from trainer.tasks.targets.map_target import STRIDES
from trainer.tasks.task import Task

ModelFn = Callable[[Task], keras.Model]


def _branches(task: Task, of_image: Callable[[Any], Any] | None = None) -> keras.Model:
    """Build a branch per input, and the target's head on their merged vector.

    `of_image` encodes images as vectors; None for the small network.
    """
    tensors = keras_inputs(task.inputs)
    outputs = task.goal.head(encode_inputs(task.inputs, tensors, of_image))
    return keras.Model(single_or_dict(tensors), outputs)


# From images, strides and weights to feature maps.
Maps = Callable[[Any, Sequence[int], str | None], Sequence[Any]]


def _detector(maps: Maps, task: Task, weights: str | None = None) -> keras.Model:
    """Build the detector from images in 0..1 to predictions of all points."""
    image = only_image([*task.inputs.values()], DETECTION)
    check_size(image.image_size, detection.STRIDES[-1])
    pixels = keras.Input(image.shape, name="image")
    levels = maps(pixels, detection.STRIDES, weights)
    return keras.Model(pixels, detection.predictions(levels, len(task.classes)))


def _segmenter(maps: Maps | None, task: Task, weights: str | None = None) -> keras.Model:
    """Build the network from images in 0..1 to logits of all pixels; None for the U-Net."""
    image = only_image([*task.inputs.values()], SEGMENTATION)
    check_size(image.image_size, STRIDES[-1])
    pixels = keras.Input(image.shape, name="image")
    if maps is None:
        return keras.Model(pixels, networks.u_net(pixels, len(task.classes)))
    levels = maps(pixels, STRIDES, weights)
    return keras.Model(pixels, networks.decoded(pixels, levels, len(task.classes)))


def _small_maps(pixels: Any, strides: Sequence[int], weights: str | None) -> Sequence[Any]:
    del weights  # it has none
    return networks.pyramid(pixels, strides)


def _with_application(name: str, task: Task, weights: str | None) -> keras.Model:
    return _branches(task, lambda image: pretrained.application_vector(name, image, weights))


def _applications() -> Iterator[Model]:
    for name in pretrained.application_names():
        maps = functools.partial(pretrained.application_maps, name)
        builders: dict[Sequence[str], Callable[..., keras.Model]] = {
            (CLASSIFICATION, REGRESSION): functools.partial(_with_application, name),
            (DETECTION,): functools.partial(_detector, maps),
            (SEGMENTATION,): functools.partial(_segmenter, maps),
        }
        for learns, build in builders.items():
            yield Model(
                name=name,
                learns=learns,
                build=build,
                about="an encoder of images in keras.applications",
                needs_image=True,
                takes_weights=True,
            )


# The first of each kind of task is the default.
MODELS = (
    Model(
        name="small",
        learns=(CLASSIFICATION, REGRESSION),
        build=_branches,
        about="a branch per input; that of an image has 0.3 M parameters",
    ),
    Model(
        name="small",
        learns=(DETECTION,),
        build=functools.partial(_detector, _small_maps),
        about="an encoder of 1 M parameters, which also learns from small batches",
    ),
    Model(
        name="small",
        learns=(SEGMENTATION,),
        build=functools.partial(_segmenter, None),
        about="a U-Net of 1.0 M parameters",
    ),
    Model(
        name=pretrained.RETINANET,
        learns=(DETECTION,),
        build=functools.partial(_detector, pretrained.retinanet_maps),
        about="the encoder of keras_hub's RetinaNet",
        needs_image=True,
        takes_weights=True,
    ),
    *_applications(),
)


def models() -> Sequence[Model]:
    """Return this package's models, and those that other packages add by entry points.

    Raises:
        ConfigError: An entry point is not a `Model`, or its name is taken.
    """
    own = {model.name for model in MODELS}
    added = plugins.added(GROUP, Model, own)
    return (*MODELS, *map(_checked, added.values()))


def check_name(name: str | None) -> None:
    """Raise UnknownNameError unless there is a model of this name; None is the default."""
    names = [*dict.fromkeys(model.name for model in models())]
    if name is not None and name not in names:
        raise UnknownNameError("--model", name, names)


def find(task: Task, name: str | None = None, weights: str | None = None) -> Model:
    """Return the model of this name for a task; None for the default.

    Raises:
        UnknownNameError: There is no such model.
        ConfigError: The model does not suit the task, or has no weights.
    """
    check_name(name)
    named = [model for model in models() if name in (None, model.name)]
    model = next((each for each in named if task.goal.learns in each.learns), None)
    if model is None:
        kinds = ", ".join(dict.fromkeys(kind for each in named for kind in each.learns))
        raise ConfigError(
            f"--model {name} is for {kinds}, but the task is {task.goal.learns}; name another model"
        )
    if model.needs_image:
        check_images(f"--model {model.name}", task.inputs.values())
    if weights is not None and not model.takes_weights:
        raise ConfigError(
            f"--weights is for models of keras.applications and {pretrained.RETINANET}; leave it "
            "out, or name such a model by --model"
        )
    return model


def build(task: Task, name: str | None = None, weights: str | None = None) -> keras.Model:
    """Build the model that `find` returns.

    Raises:
        ConfigError: As for `find`; or sizes or weights do not fit.
    """
    found = find(task, name, weights)
    model = found.build(task, weights) if found.takes_weights else found.build(task)
    model.name = found.name.lower()
    return model


def _checked(model: Model) -> Model:
    """Return another package's model, whose network is checked when it is built."""

    def build(task: Task, *weights: str | None) -> keras.Model:
        return model_from_function(
            task, lambda task: model.build(task, *weights), f"--model {model.name}"
        )

    return dataclasses.replace(model, build=build)


def model_from_function(task: Task, model_fn: ModelFn, option: str) -> keras.Model:
    """Call the user's function for a model of the task, and check the result.

    Outputs of other dtypes, as in mixed precision, are cast to float32 for the loss. Errors of the
    function itself are not caught. Messages name it as `option`.

    Raises:
        ConfigError: The function does not return a model, or the model does not take the task's
            inputs, has another number of outputs, or cannot be saved.
    """
    try:
        model = model_fn(task)
    except (Exception, SystemExit) as error:  # such as of sys.exit
        if place_of(error):
            raise
        raise ConfigError(f"{option} makes no model of a task: {error}") from error
    if not isinstance(model, keras.Model):
        raise ConfigError(f"{option} returned {type(model).__name__}; return a keras.Model")
    inputs = keras_inputs(task.inputs)
    layer = "; end it with keras.layers.Dense(task.num_outputs)"
    remedy = layer if len(task.output_shape) == 1 else ""
    outputs = outputs_of(model, inputs, task, f"the model of {option}", remedy)
    try:
        keras.saving.serialize_keras_object(model)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the model of {option} cannot be saved: {error}; give its own layers a "
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
