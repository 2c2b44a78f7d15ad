"""Image encoders to a vector or feature maps: small models, and `keras.applications`."""

import importlib
import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import counted
from trainer.errors import ConfigError, UnknownNameError
from trainer.tasks import retinanet

SMALL = "small"
IMAGENET = "imagenet"
_WIDTHS = (32, 64, 128, 256)
_RESIDUAL_WIDTHS = (16, 32, 64, 128)
_PLAIN_STAGES = 2
_SMALL_SIDE = 40
_PYRAMID_WIDTHS = (24, 48, 96, 128, 160)
_GROUPS = 8
# Batch normalisation with random weights: Keras's 0.99 and 0.999 need many more steps than the
# default plan has; before that, an evaluated model only guesses.
_MOMENTUM = 0.9


def encode(name: str, image: Any, weights: str | None) -> Any:
    """Encode images, a Keras tensor [b, height, width, channels] of float32 in 0..1, as vectors.

    Args:
        name: "small", or a model of `keras.applications` such as "MobileNetV2". The
            preprocessing that their weights expect is part of the model.
        image: The Keras tensor.
        weights: Weights file of a `keras.applications` model without its head
            (`…_notop.h5` or `.weights.h5`); "imagenet" for those that Keras downloads; None
            for random weights.

    Raises:
        ConfigError: The model does not exist, or its size or weights do not fit.
    """
    if name != SMALL:
        backbone, prepared = _backbone(name, image, weights, "avg")
        return backbone(prepared)
    check_no_weights(weights)
    return _residual(keras.layers.Rescaling(2.0, offset=-1.0)(image))


def _residual(x: Any) -> Any:
    """The small image model: one strided stage per width, the last two residual.

    It has 0.3 M parameters. Group normalisation works on single images, so neither the number of
    replicas nor small batches change results. Small images keep their size in the first stage.
    """
    is_small = max(x.shape[1:3]) <= _SMALL_SIDE
    for stage, width in enumerate(_RESIDUAL_WIDTHS):
        x = convolution(x, width, strides=2 if stage or not is_small else 1)
        if stage >= _PLAIN_STAGES:
            x = keras.layers.Add()([x, convolution(x, width)])
    return keras.layers.GlobalAveragePooling2D()(x)


def convolutions(x: Any) -> Any:
    """Four strided convolutions with group normalisation; 0.4 M parameters.

    For arrays of 32 to 128 rows with a mean near 0 and a variance near 1.
    """
    for width in _WIDTHS:
        x = convolution(x, width, strides=2)
    return keras.layers.GlobalAveragePooling2D()(x)


def convolution(x: Any, width: int, strides: int = 1) -> Any:
    """Apply a 3 x 3 convolution with group normalisation."""
    x = keras.layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(x)
    x = keras.layers.GroupNormalization(_GROUPS)(x)
    return keras.layers.ReLU()(x)


def plain_convolution(x: Any, width: int, strides: int = 1) -> Any:
    """Apply a 3 x 3 convolution without normalisation."""
    return keras.layers.Conv2D(width, 3, strides=strides, padding="same", activation="relu")(x)


def pyramid(name: str, image: Any, strides: Sequence[int], weights: str | None) -> list[Any]:
    """Return a model's feature maps at these strides, powers of 2.

    The models are those of `encode`, and "RetinaNet" (retinanet.py). If several layers have the
    same size, the last one is used.

    Raises:
        ConfigError: As for `encode`, or the model has no feature map with such a stride.
    """
    if name == SMALL:
        check_no_weights(weights)
        return _small_pyramid(keras.layers.Rescaling(2.0, offset=-1.0)(image), strides)
    if name == retinanet.NAME:
        return _chosen(name, retinanet.maps(image, weights), strides)
    backbone, prepared = _backbone(name, image, weights, None)
    by_size = {
        layer.output.shape[1:3]: layer.output
        for layer in backbone.layers
        if len(getattr(layer.output, "shape", ())) == 4
    }
    _, height, width, _ = image.shape
    sizes = {stride: (height // stride, width // stride) for stride in strides}
    maps = {stride: by_size[size] for stride, size in sizes.items() if size in by_size}
    levels: list[Any] = keras.Model(backbone.input, _chosen(name, maps, strides))(prepared)
    return levels


def _chosen(name: str, maps: Mapping[int, Any], strides: Sequence[int]) -> list[Any]:
    if absent := set(strides).difference(maps):
        raise ConfigError(
            f"--model {name} has no feature map {min(absent)} times smaller than the image, which "
            "the task needs; name another model"
        )
    return [maps[stride] for stride in strides]


def _small_pyramid(x: Any, strides: Sequence[int]) -> list[Any]:
    """Strided convolutions, all but the first followed by a residual one: 0.9 M parameters.

    The first is not normalised: at that size it would take as long as the convolution.
    """
    first, *widths = _PYRAMID_WIDTHS
    x = plain_convolution(x, first, strides=2)
    levels = {2: x}
    for number, width in enumerate(widths, start=2):
        x = convolution(x, width, strides=2)
        x = keras.layers.Add()([x, convolution(x, width)])
        levels[2**number] = x
    return [levels[stride] for stride in strides]


def check_no_weights(weights: str | None) -> None:
    """Raise ConfigError for any weights, which the small models do not have."""
    if weights is not None:
        raise ConfigError(
            "--weights is for models of keras.applications and RetinaNet; leave it out, or name "
            "such a model by --model"
        )


def _backbone(
    name: str, image: Any, weights: str | None, pooling: str | None
) -> tuple[keras.Model, Any]:
    """Return a model without its head, and the image preprocessed for it."""
    if weights == retinanet.COCO:
        raise ConfigError(
            f"--weights {weights} are those of --model {retinanet.NAME}, but the model is {name}; "
            f"give --weights {IMAGENET}, or a file"
        )
    check_name(name)
    if name == retinanet.NAME:
        raise ConfigError(f"--model {name} is for boxes; name another model")
    constructor = _constructors()[name]
    preprocess = importlib.import_module(constructor.__module__).preprocess_input
    of_keras = IMAGENET if weights == IMAGENET else None
    options = {"weights": of_keras, "input_shape": image.shape[1:], "pooling": pooling}
    try:
        with warnings.catch_warnings():  # about weights for another image size
            warnings.simplefilter("ignore")
            backbone = constructor(include_top=False, **options)
    except Exception as error:
        if of_keras and "URL fetch failure" in str(error):  # Keras raises a plain Exception
            raise ConfigError(
                f"--weights {IMAGENET}: Keras's weights of {name} are not on this machine, and "
                f"cannot be fetched: {error}; copy the file of that name to the folder models of "
                "Keras's (~/.keras, or $KERAS_HOME), or name it by --weights FILE"
            ) from error
        if not isinstance(error, ValueError):
            raise
        _, height, width, channels = image.shape
        needs_color = of_keras and channels != 3
        remedy = "leave out --weights" if needs_color else "give another --image-size"
        raise ConfigError(
            f"--model {name} cannot take images of {ImageSize(height, width)} with "
            f"{counted(channels, 'channel')}: {error}; {remedy}, or another --model"
        ) from error
    if weights is None:
        for layer in backbone._flatten_layers():
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.momentum = min(layer.momentum, _MOMENTUM)
    elif of_keras is None:
        _load_all(backbone, weights)
    return backbone, preprocess(keras.layers.Rescaling(255.0)(image))


def check_name(name: str) -> None:
    """Raise UnknownNameError unless the trainer or Keras has the model."""
    known = [SMALL, retinanet.NAME, *sorted(_constructors())]
    if name not in known:
        raise UnknownNameError("--model", name, known)


def _constructors() -> Mapping[str, Any]:
    return dict(inspect.getmembers(keras.applications, inspect.isfunction))


def _load_all(backbone: keras.Model, path: str) -> None:
    """Load weights that cover every variable."""
    for variable in backbone.weights:
        if variable.dtype.startswith("float"):
            variable.assign(np.full(variable.shape, math.nan, dtype="float32"))
    try:
        with warnings.catch_warnings():  # about missing variables, which are errors below
            warnings.simplefilter("ignore")
            backbone.load_weights(path)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"--weights {path} does not fit {backbone.name} without its head: {error}; give the "
            "file whose name ends in notop.h5, or one saved by save_weights of the same model"
        ) from error
    missing = [weight.path for weight in backbone.weights if np.isnan(np.asarray(weight)).any()]
    if missing:
        raise ConfigError(
            f"--weights {path} covers {len(backbone.weights) - len(missing)} of "
            f"{len(backbone.weights)} variables of {backbone.name}, but not {missing[0]}; give "
            "weights of the same model"
        )
