"""The layout `visdrone`: a text file per image, a line of eight numbers per object.

Source of the format: https://github.com/VisDrone/VisDrone2018-DET-toolkit: left, top, width,
height, score, category, truncation, occlusion.
"""

import re
from collections.abc import Sequence

from beam_pipeline.sources.annotations.shapes import Shapes, numbers, sized
from beam_pipeline.sources.annotations.side_files import LineFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed

# By number; the first is for regions that nobody annotated.
_CLASSES = (
    *("ignored regions", "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle"),
    *("awning-tricycle", "bus", "motor", "others"),
)
_SPLIT = re.compile(r"DET-(train|val|test)")
_LINE = re.compile(rb"\A(-?\d+,){7}-?\d+,?\s*(\n|\Z)")


class VisDroneFiles(LineFiles):
    """Text files in annotations/, and the images in images/."""

    home = "annotations"
    image_home = "images"
    separator = ","

    def split_of_folder(self, path: str) -> str | None:
        stated = _SPLIT.search(path)
        return stated[1] if stated else super().split_of_folder(path)

    def add(self, shapes: Shapes, fields: Sequence[str]) -> None:
        x, y, width, height, _, category, truncated, occluded = map(int, numbers(fields, 8))
        if not 0 <= category < len(_CLASSES):
            raise malformed(f"category {category} is not one of {len(_CLASSES)}")
        if not category:
            shapes.left.append(_CLASSES[0])
            return
        more = {"truncated": truncated, "occluded": occluded}
        shapes.box(_CLASSES[category], sized(x, y, width, height), more)


_SIGN = "annotations/*.txt of VisDrone and images/"
LAYOUT = side_file_layout("visdrone", _SIGN, VisDroneFiles(), _LINE)
