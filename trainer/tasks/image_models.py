"""Image encoders to a vector or feature maps: small models, `keras.applications`, RetinaNet."""

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

SMALL = "small"
IMAGENET = "imagenet"
RETINANET = "RetinaNet"
COCO = "coco"
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

    The models are those of `encode`, and "RetinaNet". If several layers have the
    same size, the last one is used.

    Raises:
        ConfigError: As for `encode`, or the model has no feature map with such a stride.
    """
    if name == SMALL:
        check_no_weights(weights)
        return _small_pyramid(keras.layers.Rescaling(2.0, offset=-1.0)(image), strides)
    if name == RETINANET:
        return _chosen(name, _retinanet_maps(image, weights), strides)
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
    if weights == COCO:
        raise ConfigError(
            f"--weights {weights} are those of --model {RETINANET}, but the model is {name}; "
            f"give --weights {IMAGENET}, or a file"
        )
    check_name(name)
    if name == RETINANET:
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
    known = [SMALL, RETINANET, *sorted(_constructors())]
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


_PRESET = "retinanet_resnet50_fpn_coco"
# Pyramid levels that the heads of other detectors can use.
_LEVELS = (5, 4, 3)


def _retinanet_maps(image: Any, weights: str | None) -> dict[int, Any]:
    """Return the feature maps by stride, 8, 16 and 32, of keras_hub's RetinaNet.

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
    return dict(zip(levels, whole(scaled), strict=True))


def _read_preset(preset: str, weights: str) -> tuple[Any, Any]:
    """Load the backbone with its pyramid, and its preprocessor."""
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
