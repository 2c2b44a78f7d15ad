"""The options that decide the batches of a training, each written once. Imports no TensorFlow."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Group, Options
from trainer.options.shared import (
    CacheBytes,
    CacheDir,
    Data,
    Quiet,
    RunOption,
    Schema,
    own_function,
)

AUGMENTATIONS = ("auto", "none", "flip", "crop", "rand")
LETTERBOX, STRETCH = "letterbox", "stretch"


@dataclasses.dataclass(frozen=True, kw_only=True)
class InputConfig(Options):
    """What `train`, `tune` and `show-batch` have: the data, and what is made of it."""

    data: Annotated[Data, Group("data and output")]
    schema: Schema = None
    cache_dir: CacheDir = None
    cache_bytes: CacheBytes = None
    train_split: Annotated[
        str | None,
        RunOption("split to train on (default: train, or the only split)", metavar="SPLIT"),
    ] = None
    task: Annotated[
        str | None,
        RunOption(
            "what to learn: a class, a number, boxes, or the class of each pixel (default: by the "
            "target)",
            choices=("classification", "regression", "detection", "segmentation"),
        ),
        Group("inputs, target and model"),
    ] = None
    target: Annotated[
        str | None,
        RunOption(
            "feature to predict (default: the class label, else the one named label, target or y, "
            "else the boxes, else the map of classes)",
            metavar="FEATURE",
        ),
    ] = None
    target_as: Annotated[
        str | None,
        RunOption(
            "predict the target as a class or as a number (default: fractions are numbers, whole "
            "numbers and texts are classes)",
            flag="--as",
            choices=("class", "number"),
        ),
    ] = None
    inputs: Annotated[
        tuple[str, ...] | None,
        RunOption(
            "features to learn from (default: the image, audio, sequence, text or array, and the "
            "numeric vectors in the same record; else all numbers)",
            metavar="FEATURE,…",
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        RunOption("numeric feature that weights each record's loss in training", metavar="FEATURE"),
    ] = None
    pad: Annotated[
        Mapping[str, int],
        RunOption(
            "pad or cut an input to N: ids of a sequence, words of a text, samples of audio "
            "(default: pad to the longest in each batch)",
            metavar="INPUT=N,…",
            least=1,
        ),
    ] = dataclasses.field(default_factory=dict)
    image_size: Annotated[
        ImageSize | None,
        RunOption(
            "resize images to this many pixels (default: the dataset's size, else 128; for boxes "
            "and maps up to 640, else 320)",
            is_completed=True,
        ),
    ] = None
    resize: Annotated[
        str,
        RunOption(
            "images get their size by being stretched, or in their own aspect, on grey (letterbox, "
            "for boxes); auto (default): letterbox for boxes, else stretch",
            choices=("auto", LETTERBOX, STRETCH),
        ),
    ] = "auto"
    augment: Annotated[
        str,
        RunOption(
            "changes of images in training: mirrored (flip), also cropped (crop), also RandAugment "
            "(rand); auto (default): crop for boxes and maps, else none",
            choices=AUGMENTATIONS,
        ),
    ] = "auto"
    augment_fn: Annotated[
        str | None,
        own_function(
            "your own function from an image (uint8 tensor) and a seed (int64 [2]) to another"
        ),
    ] = None
    mixup: Annotated[float, RunOption("mix images in pairs, such as 0.2", least=0)] = 0.0
    cutmix: Annotated[float, RunOption("mix parts of images, such as 1.0", least=0)] = 0.0
    multi_scale: Annotated[
        float | None,
        RunOption(
            "show what is in images up to N times smaller and larger in training, in place of the "
            "crops of --augment, such as 2",
            above=1,
            most=10,
        ),
    ] = None
    mosaic: Annotated[
        float,
        RunOption(
            "share of images in whose place four come side by side, for boxes, such as 0.5",
            least=0,
            most=1,
        ),
    ] = 0.0
    label_smoothing: Annotated[
        float,
        RunOption("share of the loss for all classes alike, such as 0.1", least=0, below=1),
    ] = 0.0
    sampling: Annotated[
        str,
        RunOption(
            "every record once a pass (uniform), or all classes equally often (balanced)",
            choices=("uniform", "balanced"),
        ),
    ] = "uniform"
    batch_size: Annotated[
        int,
        RunOption("records per step, over all replicas", least=1),
        Group("training"),
    ] = 32
    quiet: Quiet = False
