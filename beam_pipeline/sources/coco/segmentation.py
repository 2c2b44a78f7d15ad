"""What COCO's `segmentation` states: polygons, or the run lengths of a mask.

Format: https://cocodataset.org/#format-data, and pycocotools/mask.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.masks import checked, mask_of_runs
from beam_pipeline.records import Mask
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.shapes import around
from tfrecord_dataset.image_size import ImageSize

_FEWEST_NUMBERS = 6  # of a polygon: three corners
_LARGEST = 1e30
_MOST_PIXELS = 1 << 40


@crosses
class Segmentation(NamedTuple):
    """What is kept of a `segmentation`.

    Attributes:
        rings: Polygons, x, y of one corner after the other, in pixels.
        mask: The pixels, where they are stated instead.
        num_dropped: Polygons of fewer than three corners, which surround nothing.
        fault: Why it cannot be used; empty if it can.
    """

    rings: tuple[tuple[float, ...], ...] = ()
    mask: Mask | None = None
    num_dropped: int = 0
    fault: str = ""


NOTHING = Segmentation()


def segmentation_of(stated: Any) -> Segmentation:
    """What an annotation's `segmentation` states; `NOTHING` where there is none."""
    if stated in (None, [], {}):
        return NOTHING
    if isinstance(stated, dict):
        return _of_runs(stated)
    if not isinstance(stated, list) or not all(map(are_numbers, stated)):
        return Segmentation(fault=f"segmentation {repr(stated)[:200]} is not a list of polygons")
    rings = [tuple(map(float, each)) for each in stated if len(each) >= _FEWEST_NUMBERS]
    if odd := next((ring for ring in rings if len(ring) % 2), None):
        return Segmentation(fault=f"a polygon has {len(odd)} numbers, not x and y of each corner")
    return Segmentation(rings=tuple(rings), num_dropped=len(stated) - len(rings))


def _of_runs(stated: dict[str, Any]) -> Segmentation:
    size, counts = stated.get("size"), stated.get("counts")
    try:
        height, width = size if isinstance(size, list) else [0, 0]
        image = ImageSize(int(height), int(width))
        if min(image) < 1 or image.height * image.width > _MOST_PIXELS:
            raise ValueError
        if isinstance(counts, list):
            return Segmentation(mask=mask_of_runs(image, [int(each) for each in counts]))
        return Segmentation(mask=checked((image, str(counts).encode())))
    except (TypeError, ValueError, OverflowError):
        return Segmentation(fault=f"segmentation {repr(stated)[:200]} has no size and counts")
    except RecordError as error:
        return Segmentation(fault=f"segmentation: {error.detail}")


def outline(rings: Sequence[Sequence[float]]) -> list[float]:
    """[x, y, width, height] around polygons, of which there is one at least."""
    xmin, ymin, xmax, ymax = around(rings)
    return [xmin, ymin, xmax - xmin, ymax - ymin]


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a number that an image may have: finite, and not of hundreds of digits."""
    return isinstance(value, int | float) and abs(value) < _LARGEST


def are_numbers(values: Any) -> bool:
    """Whether it is a list of such numbers."""
    return isinstance(values, list) and all(map(is_number, values))
