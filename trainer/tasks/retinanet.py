"""Feature maps of keras_hub's RetinaNet, pretrained on COCO's boxes.

keras_hub reads the weights. The model has only Keras's own layers, so runs do not need keras_hub.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import keras

from trainer.errors import ConfigError

NAME = "RetinaNet"
COCO = "coco"
_PRESET = "retinanet_resnet50_fpn_coco"
# Pyramid levels that the heads of other detectors can use.
_LEVELS = (5, 4, 3)


def maps(image: Any, weights: str | None) -> dict[int, Any]:
    """Return the feature maps by stride: 8, 16 and 32.

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
            f"--model {NAME} is there for its weights; give --weights {COCO}, or the folder of a "
            "preset of keras_hub's"
        )
    if image.shape[-1] != 3:
        raise ConfigError(
            f"--model {NAME} takes images of 3 channels, but these have {image.shape[-1]}; name "
            "another model"
        )
    backbone, converter = _read(_PRESET if weights == COCO else weights, weights)
    scaled = keras.layers.Rescaling(_times_255(converter.scale), converter.offset or 0.0)(image)
    read = backbone.get_layer("backbone")
    pixels = keras.Input(image.shape[1:])
    inputs = keras.tree.map_structure(lambda _: pixels, read.input)
    encoder = keras.models.clone_model(read, input_tensors=inputs)
    encoder.set_weights(read.get_weights())
    levels = _pyramid(backbone.feature_pyramid, encoder.output)
    # A list, since a saved model has a dictionary's keys as texts, in another order.
    whole = keras.Model(pixels, list(levels.values()), name="retinanet_backbone")
    return dict(zip(levels, whole(scaled), strict=True))


def _read(preset: str, weights: str) -> tuple[Any, Any]:
    """Load the backbone with its pyramid, and its preprocessor."""
    try:
        hub = importlib.import_module("keras_hub")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--model {NAME} needs keras_hub, of which {error.name} is missing; "
            "docs/detection.md#weights has the command that installs it"
        ) from error
    try:
        backbone = hub.models.RetinaNetBackbone.from_preset(preset)
        return backbone, hub.layers.ImageConverter.from_preset(preset)
    except Exception as error:  # keras_hub raises various types
        raise ConfigError(
            f"--weights {weights!r} cannot be read as keras_hub's {NAME}: {error}; give the folder "
            "of a preset, with config.json and model.weights.h5"
        ) from error


def _times_255(scale: Any) -> Any:
    """Convert a scale of pixels in 0..255, or one per channel, to that of pixels in 0..1."""
    if scale is None:
        return 255.0
    return [255.0 * each for each in scale] if isinstance(scale, list | tuple) else 255.0 * scale


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
