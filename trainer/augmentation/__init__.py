"""Augmentation of training records: another one of each record in each pass, by stateless seeds."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from trainer.augmentation.rand_augment import rand_augment, rand_augment_in_place
from trainer.parsing import Augment
from trainer.views import Views

__all__ = ["AUTO", "POLICIES", "Augmentation", "augmentation_of"]

AUTO = "auto"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """What happens to the images of a training record.

    Attributes:
        views: Crops and flips, with the boxes; None for whole images.
        pixels: What changes the viewed image; None for nothing.
    """

    views: Views | None = None
    pixels: Augment | None = None


# A random resized crop, as classifiers are trained since Inception, though not below a quarter.
_CROP = Views(area=(0.25, 1.0), aspect=(3 / 4, 4 / 3), mirror=True)
# Boxes need their surroundings: less is cut, and objects are shown larger and smaller.
_BOXES_CROP = Views(area=(0.35, 1.5), aspect=(0.8, 1.25), mirror=True)

POLICIES: Mapping[str, Augmentation] = MappingProxyType(
    {
        "none": Augmentation(),
        "flip": Augmentation(views=Views(mirror=True)),
        "crop": Augmentation(views=_CROP),
        "rand": Augmentation(views=_CROP, pixels=rand_augment),
    }
)


def augmentation_of(policy: str, *, of_boxes: bool) -> Augmentation:
    """The augmentation of a policy's name; "auto" crops where boxes are learned, else does nothing.

    Args:
        policy: "auto", or one of `POLICIES`.
        of_boxes: Whether the task learns boxes.
    """
    if policy == AUTO:
        policy = "crop" if of_boxes else "none"
    chosen = POLICIES[policy]
    if not of_boxes:
        return chosen
    return dataclasses.replace(
        chosen,
        views=_BOXES_CROP if chosen.views == _CROP else chosen.views,
        pixels=rand_augment_in_place if chosen.pixels is rand_augment else chosen.pixels,
    )
