"""Checks of the arguments of `Dataset.batches`, before anything is read."""

from collections.abc import Sequence
from typing import Any

from tfrecord_dataset.declaration import is_whole
from trainer.errors import ConfigError
from trainer.records.order import Share

ImageSize = int | tuple[int, int]
_INT64 = (-(1 << 63), (1 << 63) - 1)


def whole_number(name: str, value: Any, least: int = 1) -> int | None:
    """An argument that is None or a whole number.

    Args:
        name: Of the argument.
        value: The argument's value.
        least: The smallest allowed value.

    Raises:
        ConfigError: It is not a whole number from `least` to the largest int64.
    """
    if value is None:
        return None
    if not is_whole(value) or not least <= value <= _INT64[1]:
        raise ConfigError(f"{name}={value!r}: give a whole number, {least} or more")
    return int(value)


def seed_number(value: Any) -> int | None:
    """`seed`, or None.

    Raises:
        ConfigError: It is not an int64.
    """
    if value is None:
        return None
    if not is_whole(value) or not _INT64[0] <= value <= _INT64[1]:
        raise ConfigError(f"seed={value!r}: give a whole number that fits into 64 bits")
    return int(value)


def height_and_width(image_size: Any) -> tuple[int, int] | None:
    """`image_size` as (height, width) in pixels, or None.

    Raises:
        ConfigError: It is neither one side nor two.
    """
    if image_size is None:
        return None
    is_pair = isinstance(image_size, Sequence) and not isinstance(image_size, str | bytes)
    sizes = tuple(image_size) if is_pair else (image_size, image_size)
    if len(sizes) != 2 or not all(is_whole(size) and size >= 1 for size in sizes):
        raise ConfigError(
            f"image_size={image_size!r}: give a side in pixels, 64, or (height, width), (48, 64)"
        )
    return int(sizes[0]), int(sizes[1])


def passes(repeat: Any) -> int | None:
    """The number of passes that `repeat` asks for; None for endless.

    Raises:
        ConfigError: It is neither a bool nor a number of passes.
    """
    if isinstance(repeat, bool):
        return None if repeat else 1
    if not is_whole(repeat) or repeat < 1:
        raise ConfigError(
            f"repeat={repeat!r}: give a number of passes, 1 or more, or True for endless"
        )
    return int(repeat)


def check_balance(balance: str | None, shuffle: bool) -> None:
    """Raises ConfigError unless records are shuffled where classes are balanced."""
    if balance is not None and not shuffle:
        raise ConfigError(f"balance={balance!r} decides the order; it needs shuffle=True")


def share(worker: Any, num_workers: Any, batch_size: int | None) -> Share | None:
    """The part of one of several workers; None where there is only one.

    Raises:
        ConfigError: There is no such worker, or batches that they cannot share evenly.
    """
    whole_number("num_workers", num_workers)
    if not is_whole(worker) or not 0 <= worker < num_workers:
        raise ConfigError(
            f"worker={worker!r} of num_workers={num_workers}: give a number from 0 to "
            f"{num_workers - 1}"
        )
    if num_workers == 1:
        return None
    if batch_size is None or batch_size % num_workers:
        raise ConfigError(
            f"{num_workers} workers cannot share batches of {batch_size} evenly; give a batch_size "
            f"that is a multiple of {num_workers}, without buckets"
        )
    return Share(worker=int(worker), num_workers=int(num_workers), batch_size=batch_size)
