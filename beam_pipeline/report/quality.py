"""Images that may be no good: dark, of one colour, blurred, tiny, long and narrow."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from beam_pipeline.media.images import size_in_file
from beam_pipeline.report.sample import Sampled
from tfrecord_dataset.feature import Feature

# Decoded small, JPEG at an eighth of its size where that is enough.
_SIDE = 256
_MOST_IMAGES = 200
# Of 255: the brightest twentieth of a dark image is below, a plain one's grey values spread less.
_DARK = 60
_PLAIN = 2.0
# The variance of the Laplacian by that of the grey values: 120 images of cells and blood
# had 0.037 and more; blurred by 4 pixels 0.010, by 8 pixels 0.007 (medians).
_BLURRED = 0.012
_TINY = 32
_LONG = 4.0
_MODES = ("L", "RGB", "RGBA", "CMYK", "P")


def quality(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """What is odd about some of the sample's images.

    Returns:
        "feature"; "looked": images that were decoded; "found": by what they are, "split number" of
        each. What most of them are is how the dataset is, and not told.
    """
    found: dict[str, list[str]] = {}
    looked = 0
    for record in records[:_MOST_IMAGES]:
        data = record.values.get(feature.name)
        if not data:
            continue
        looked += 1
        for fault in faults(data):
            found.setdefault(fault, []).append(f"{record.split} {record.number}")
    rare = {what: each for what, each in sorted(found.items()) if len(each) * 2 <= looked}
    return {"feature": feature.name, "looked": looked, "found": rare}


def faults(data: bytes) -> list[str]:
    """What is odd about one encoded image; nothing of a mode that tells little, such as 16 bits."""
    size = size_in_file(data)
    found = []
    if min(size.width, size.height) < _TINY:
        found.append("tiny")
    if max(size.width, size.height) > _LONG * min(size.width, size.height):
        found.append("long and narrow")
    grey = _grey(data)
    if grey is None or min(grey.shape) < 3:
        return found
    if grey.std() < _PLAIN:
        return [*found, "of one colour"]
    if np.percentile(grey, 95) < _DARK:
        found.append("dark")
    if sharpness(grey) < _BLURRED:
        found.append("blurred")
    return found


def sharpness(grey: Any) -> float:
    """The variance of the Laplacian, as a part of the grey values' own; float32 [h, w]."""
    inner = grey[1:-1, 1:-1]
    around = grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:]
    return float((around - 4 * inner).var() / grey.var())


def _grey(data: bytes) -> Any:
    try:
        image = Image.open(io.BytesIO(data))
        if image.mode not in _MODES:
            return None
        image.draft("L", (_SIDE, _SIDE))
        image.thumbnail((_SIDE, _SIDE))
        return np.asarray(image.convert("L"), np.float32)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None  # of a form that Pillow cannot read; the build has decoded it
