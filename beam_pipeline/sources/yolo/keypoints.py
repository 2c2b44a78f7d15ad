"""What a data.yaml says of keypoints: how many, their names, and their mirror."""

from typing import Any

from beam_pipeline.errors import ConfigError


def shape_of(shape: Any, source: str) -> tuple[int, int] | tuple[()] | None:
    """[keypoints, 2 or 3]; () where polygons are meant, None where nothing is said."""
    if not shape:
        return () if shape == [] else None
    try:
        count, size = map(int, shape)
    except (TypeError, ValueError):
        count = size = 0
    if count < 1 or size not in (2, 3):
        raise ConfigError(f"{source}: kpt_shape is {shape!r:.60}; it is [keypoints, 2 or 3]")
    return count, size


def names_of(stated: Any, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """The names of the points, where all classes have the same, one for each."""
    lists = [*stated.values()] if isinstance(stated, dict) else [stated]
    names = lists[0]
    if not shape or not isinstance(names, list) or any(each != names for each in lists):
        return ()
    return tuple(map(str, names)) if len(names) == shape[0] else ()


def flips_of(stated: Any, shape: tuple[int, ...] | None, source: str) -> tuple[int, ...]:
    """For each keypoint the number of the one that it is in a mirror; () where none is told."""
    if not stated or not shape:
        return ()
    try:
        mirrored = tuple(map(int, stated))
    except (TypeError, ValueError):
        mirrored = ()
    if sorted(mirrored) != list(range(shape[0])):
        raise ConfigError(
            f"{source}: flip_idx is {stated!r:.60}; it has each number from 0 to {shape[0] - 1} "
            "once: for each keypoint the one that it is in a mirror"
        )
    return mirrored
