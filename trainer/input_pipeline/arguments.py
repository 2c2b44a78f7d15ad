"""Checks the arguments of `Dataset.batches` before anything is read."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.declaration import is_whole
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import listed
from trainer import parsing
from trainer.errors import ConfigError, UnknownNameError
from trainer.order import WorkerShare
from trainer.workers import read_workers

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # int64


def select(
    features: Mapping[str, Feature], names: str | Sequence[str] | None, path: str
) -> list[Feature]:
    """Return the features of these names, or all; `path` is the dataset's, for messages.

    Raises:
        UnknownNameError: A feature does not exist.
        ConfigError: No feature is selected, or two cannot be read together.
    """
    chosen = features if names is None else [names] if isinstance(names, str) else names
    for name in chosen:
        if name not in features:
            raise UnknownNameError("feature", name, features, path)
    selected = [features[name] for name in chosen]
    if not selected:
        raise ConfigError(f"features=[] selects nothing of {path}; name a feature")
    parsing.parse_specs(selected)  # raises for conflicts
    return selected


def check_equal_sizes(outputs: Sequence[parsing.Output]) -> None:
    """Raise ConfigError if images keep their own sizes, which cannot be batched."""
    for output in outputs:
        if output.padding is None and None in output.shape:
            raise ConfigError(
                f"{output.feature.kind}s of {output.name!r} differ in size and cannot be batched; "
                "pass image_size=(height, width), or batch_size=None for single records"
            )


def whole_number(name: str, value: Any, least: int | None = 1) -> int | None:
    """Check an argument that is None or an int64, of at least `least`.

    Raises:
        ConfigError: The value is neither.
    """
    if value is None:
        return None
    if not is_whole(value) or not (_LEAST if least is None else least) <= value <= _MOST:
        wanted = "that fits into 64 bits" if least is None else f"{least} or more"
        raise ConfigError(f"{name}={value!r}: give a whole number, {wanted}")
    return int(value)


def seed(value: Any) -> int:
    """Return the seed, checked, or a random one."""
    seed = whole_number("seed", value, least=None)
    return secrets.randbits(32) if seed is None else seed


def size_in_pixels(image_size: Any) -> ImageSize | None:
    """Normalise `image_size`: None, one side or (height, width)."""
    try:
        return None if image_size is None else ImageSize.of(image_size)
    except ValueError as error:
        raise ConfigError(f"image_size={image_size!r} {error}") from error


def check_images(features: Mapping[str, Feature], options: Mapping[str, Any]) -> None:
    """Raise ConfigError if an option of images or masks is given, but there are none."""
    given = [name for name, value in options.items() if value is not None]
    has_masks = any("mask" in each.geometry for each in features.values())
    if given and not has_masks and not parsing.images_of(list(features.values())):
        raise ConfigError(
            f"{given[0]} needs an image, but there is none among the features "
            f"{listed(list(features))}; leave it out"
        )


def sample_rates(
    features: Mapping[str, Feature], rates: Mapping[str, int] | None
) -> Mapping[str, int]:
    """Return `audio_sample_rates`, or raise UnknownNameError if a name is not of audio."""
    audio = [each.name for each in parsing.audio_of(list(features.values()))]
    for name in rates or {}:
        if name not in audio:
            raise UnknownNameError("audio", name, audio, "audio_sample_rates")
    return rates or {}


def passes(repeat: Any) -> int | None:
    """Return the number of passes for `repeat`; None for endless."""
    if isinstance(repeat, bool):
        return None if repeat else 1
    if not is_whole(repeat) or repeat < 1:
        raise ConfigError(
            f"repeat={repeat!r}: give a number of passes, 1 or more, or True for endless"
        )
    return int(repeat)


def share(
    worker: Any,
    num_workers: Any,
    context: tf.distribute.InputContext | None,
    batch_size: int | None,
    *,
    drop_remainder: bool,
) -> WorkerShare | None:
    """Return the share of one of several workers, or that in `context`; None for all records.

    Raises:
        ConfigError: The worker does not exist, or the workers cannot share batches evenly.
    """
    whole_number("num_workers", num_workers)
    if not is_whole(worker) or not 0 <= worker < num_workers:
        raise ConfigError(
            f"worker={worker!r} of num_workers={num_workers}: give a number from 0 to "
            f"{num_workers - 1}"
        )
    num_parts = num_workers
    if context is not None:
        if num_workers > 1:
            raise ConfigError(
                "input_context says which worker this is; leave out worker and num_workers"
            )
        worker, num_workers = context.input_pipeline_id, context.num_input_pipelines
        num_parts = context.num_replicas_in_sync
    elif num_workers == 1:
        return None
    if batch_size is None or batch_size % num_parts:
        raise ConfigError(
            f"{num_parts} {'workers' if context is None else 'replicas'} cannot share batches of "
            f"{batch_size} evenly; give a batch_size that is a multiple of {num_parts}"
        )
    return WorkerShare(
        worker=int(worker),
        num_workers=int(num_workers),
        num_replicas=num_parts // num_workers,
        batch_size=batch_size,
        drop_remainder=drop_remainder,
    )


def check_equal_order(
    share: WorkerShare | None, *, shuffle: bool, seed: int | None, deterministic: bool
) -> None:
    """Raise ConfigError if several workers would divide batches of different orders."""
    causes = ["shuffle=True without a seed"] if shuffle and seed is None else []
    if share is None and not deterministic:
        causes.append("deterministic=False")
    if not causes:
        return
    num_workers = read_workers().count if share is None else share.num_workers
    if num_workers > 1:
        raise ConfigError(
            f"{' and '.join(causes)} gives {num_workers} workers different orders, which repeat "
            "and lose records; pass deterministic=True and one seed to all, such as seed=0"
        )
