"""Checks of the features that a caller names."""

from collections.abc import Mapping, Sequence

from tfrecord_dataset.feature import Feature
from trainer import parsing
from trainer.errors import ConfigError, UnknownNameError


def select(
    features: Mapping[str, Feature], names: str | Sequence[str] | None, path: str
) -> list[Feature]:
    """The features of these names, or all of them.

    Args:
        features: Those of the dataset, by name.
        names: Several, one, or None for all.
        path: The dataset's, for messages.

    Raises:
        UnknownNameError: No such feature.
        ConfigError: There is none, or two cannot be read together.
    """
    if names is None:
        selected = list(features.values())
    else:
        chosen = [names] if isinstance(names, str) else names
        for name in chosen:
            if name not in features:
                raise UnknownNameError(f"feature in {path}", name, features)
        selected = [features[name] for name in chosen]
    if not selected:
        raise ConfigError(f"features=[] selects nothing of {path}; name a feature")
    parsing.check_readable(selected)
    return selected


def check_equal_sizes(features: Sequence[Feature]) -> None:
    """Raises ConfigError if images keep sizes of their own, which cannot be batched."""
    for feature in features:
        if feature.kind in ("image", "map") and None in feature.shape[:2]:
            raise ConfigError(
                f"{feature.kind}s of {feature.name!r} differ in size and cannot be batched; pass "
                "image_size=(height, width), or batch_size=None for single records"
            )


def check_choice(argument: str, value: str, choices: Sequence[str]) -> None:
    """Raises UnknownNameError if an argument is none of its choices."""
    if value not in choices:
        raise UnknownNameError(f"{argument} called", value, choices)
