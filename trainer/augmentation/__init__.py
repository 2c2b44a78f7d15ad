"""Augmentation of training records, different in each pass, by stateless seeds."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from trainer.augmentation.rand_augment import rand_augment, rand_augment_in_place
from trainer.parsing import Augment
from trainer.views import Views

__all__ = ["PLACES_POLICIES", "POLICIES", "Augmentation"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """Augmentation of a training record's images.

    Attributes:
        views: Crops and flips, also applied to boxes; None for whole images.
        pixels: Function applied to the viewed image; None for none.
    """

    views: Views | None = None
    pixels: Augment | None = None


# Inception's random resized crop, but of at least a quarter of the image.
_CROP = Views(area=(0.25, 1.0), aspect=(3 / 4, 4 / 3), mirror=True)
# Detection needs context: crops are larger, and may zoom out.
_OBJECTS_CROP = Views(area=(0.35, 1.5), aspect=(0.8, 1.25), mirror=True)

POLICIES: Mapping[str, Augmentation] = MappingProxyType(
    {
        "none": Augmentation(),
        "flip": Augmentation(views=Views(mirror=True)),
        "crop": Augmentation(views=_CROP),
        "rand": Augmentation(views=_CROP, pixels=rand_augment),
    }
)
# For tasks with positions in an image: boxes, maps of classes.
PLACES_POLICIES: Mapping[str, Augmentation] = MappingProxyType(
    {
        **POLICIES,
        "crop": Augmentation(views=_OBJECTS_CROP),
        "rand": Augmentation(views=_OBJECTS_CROP, pixels=rand_augment_in_place),
    }
)
