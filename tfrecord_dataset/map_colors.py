"""Colours of the classes of maps, as both packages draw them: those of PASCAL VOC."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

_NUM_COLORS = 256
# Names of classes that mean none of the others; a first class without a name is one, too.
_BACKGROUNDS = frozenset({"background", "_background_", "unlabeled", "none", "other", "void"})


@functools.cache
def palette() -> Any:
    """Return the colours by class number: uint8 [256, 3].

    http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html, VOClabelcolormap.
    """
    numbers = np.arange(_NUM_COLORS)
    colors = np.zeros((_NUM_COLORS, 3), np.int64)
    for bit in range(8):
        for channel in range(3):
            colors[:, channel] |= ((numbers >> (3 * bit + channel)) & 1) << (7 - bit)
    return colors.astype(np.uint8)


def as_css(color: Sequence[int]) -> str:
    """Return a colour of red, green and blue as CSS has it, such as "#800000"."""
    return "#" + bytes(color).hex()


def class_name(names: Sequence[str], number: int) -> str:
    """Return the name of a class of a map: its number if it has none."""
    return names[number] if number < len(names) else str(number)


def is_drawn(names: Sequence[str], number: int) -> bool:
    """Return whether a class is coloured: every one but the background."""
    name = class_name(names, number).lower()
    return name not in _BACKGROUNDS and (number, name) != (0, "0")
