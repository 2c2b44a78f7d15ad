"""Encoders of images with pretrained weights: `keras.applications`, RetinaNet."""

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
from trainer.errors import ConfigError

IMAGENET = "imagenet"
RETINANET = "RetinaNet"
COCO = "coco"
# Batch normalisation with random weights: Keras's 0.99 and 0.999 need many more steps than the
# default plan has; before that, an evaluated model only guesses.
_MOMENTUM = 0.9


def application_names() -> list[str]:
    """Return the names of the models in `keras.applications`."""
    return sorted(_constructors())


def application_vector(name: str, image: Any, weights: str | None) -> Any:
    """Encode images as vectors with a model of `keras.applications`.

    Args:
        name: The model, such as "MobileNetV2". The preprocessing that its weights expect is part
            of it.
        image: Keras tensor of images, float32 [b, height, width, channels] in 0..1.
        weights: Weights file of the model without its head (`…_notop.h5` or `.weights.h5`);
            "imagenet" for those that Keras downloads; None for random weights.

    Raises:
        ConfigError: The image's size or the weights do not fit.
    """
    backbone, prepared = _backbone(name, image, weights, "avg")
    return backbone(prepared)


def application_maps(
    name: str, image: Any, strides: Sequence[int], weights: str | None
) -> list[Any]:
    """Return the feature maps of such a model at these strides, powers of 2.

    If several layers have the same size, the last one is used.

    Raises:
        ConfigError: As for `application_vector`, or there is no feature map with such a stride.
    """
    backbone, prepared = _backbone(name, image, weights, None)
    by_size = {
        layer.output.shape[1:3]: layer.output
        for layer in backbone.layers
        if len(getattr(layer.output, "shape", ())) == 4
    }
    _, height, width, _ = image.shape
    sizes = {stride: (height // stride, width // stride) for stride in strides}
    maps = {stride: by_size[size] for stride, size in sizes.items() if size in by_size}
    if absent := {*strides} - maps.keys():
        raise ConfigError(
            f"--model {name} has no feature map {min(absent)} times smaller than the image, which "
            "the task needs; name another model"
        )
    chosen = [maps[stride] for stride in strides]
    levels: list[Any] = keras.Model(backbone.input, chosen)(prepared)
    return levels


def _backbone(
    name: str, image: Any, weights: str | None, pooling: str | None
) -> tuple[keras.Model, Any]:
    """Return a model without its head, and the image preprocessed for it."""
    if weights == COCO:
        raise ConfigError(
            f"--weights {weights} are those of --model {RETINANET}, but the model is {name}; "
            f"give --weights {IMAGENET}, or a file"
        )
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
        for layer in backbone.layers:
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.momentum = min(layer.momentum, _MOMENTUM)
    elif of_keras is None:
        _load_all(backbone, weights)
    return backbone, preprocess(keras.layers.Rescaling(255.0)(image))


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


_PRESET = "retinanet_resnet50_fpn_coco"
# Pyramid levels that the heads of other detectors can use.
_LEVELS = (5, 4, 3)


def retinanet_maps(image: Any, strides: Sequence[int], weights: str | None) -> list[Any]:
    """Return the feature maps at these strides, of 8, 16 and 32, of keras_hub's RetinaNet.

    keras_hub reads the weights, pretrained on COCO's boxes. The model has only Keras's own layers,
    so runs do not need keras_hub.

    Args:
        image: Keras tensor of images, float32 [b, height, width, 3] in 0..1; sides are multiples
            of 32.
        weights: "coco" for those that keras_hub downloads, or the folder of such a preset
            (`save_to_preset`).

    Raises:
        ConfigError: Weights are missing or unreadable, or keras_hub is not installed.
    """
    if weights is None:
        raise ConfigError(
            f"--model {RETINANET} is there for its weights; give --weights {COCO}, or the folder "
            "of a preset of keras_hub's"
        )
    if image.shape[-1] != 3:
        raise ConfigError(
            f"--model {RETINANET} takes images of 3 channels, but these have {image.shape[-1]}; "
            "name another model"
        )
    backbone, converter = _read_preset(_PRESET if weights == COCO else weights, weights)
    # From pixels in 0..255, perhaps by channel, to 0..1.
    scale = 255.0 if converter.scale is None else np.multiply(255.0, converter.scale).tolist()
    scaled = keras.layers.Rescaling(scale, converter.offset or 0.0)(image)
    read = backbone.get_layer("backbone")
    pixels = keras.Input(image.shape[1:])
    inputs = keras.tree.map_structure(lambda _: pixels, read.input)
    encoder = keras.models.clone_model(read, input_tensors=inputs)
    encoder.set_weights(read.get_weights())
    levels = _pyramid(backbone.feature_pyramid, encoder.output)
    # A list, since a saved model has a dictionary's keys as texts, in another order.
    whole = keras.Model(pixels, list(levels.values()), name="retinanet_backbone")
    by_stride = dict(zip(levels, whole(scaled), strict=True))
    return [by_stride[stride] for stride in strides]


def _read_preset(preset: str, weights: str) -> tuple[Any, Any]:
    try:
        hub = importlib.import_module("keras_hub")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--model {RETINANET} needs keras_hub, of which {error.name} is missing; "
            "docs/detection.md#weights has the command that installs it"
        ) from error
    try:
        backbone = hub.models.RetinaNetBackbone.from_preset(preset)
        return backbone, hub.layers.ImageConverter.from_preset(preset)
    except Exception as error:  # keras_hub raises various types
        raise ConfigError(
            f"--weights {weights!r} cannot be read as keras_hub's {RETINANET}: {error}; give the "
            "folder of a preset, with config.json and model.weights.h5"
        ) from error


def _pyramid(pyramid: Any, found: Mapping[str, Any]) -> dict[int, Any]:
    """Apply keras_hub's `FeaturePyramid` to its encoder's maps with plain layers."""
    levels = {}
    coarser = None
    for number in _LEVELS:
        level = f"P{number}"
        x = _copied(pyramid.lateral_conv_layers[level], found[level])
        if coarser is not None:
            x = keras.layers.Add()([x, keras.layers.UpSampling2D(2)(coarser)])
        if pyramid.use_batch_norm:
            x = _copied(pyramid.lateral_batch_norm_layers[level], x)
        coarser = x
        levels[2**number] = _copied(pyramid.output_conv_layers[level], x)
    return levels


def _copied(layer: Any, x: Any) -> Any:
    """Apply a copy of a layer, with its weights, to `x`."""
    copy = type(layer).from_config(layer.get_config())
    made = copy(x)
    copy.set_weights(layer.get_weights())
    return made
