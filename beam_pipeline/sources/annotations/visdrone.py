"""The layout `visdrone`: a text file an image, a line of eight numbers an object.

Source of the format: https://github.com/VisDrone/VisDrone2018-DET-toolkit: left, top, width,
height, score, category, truncation, occlusion.
"""

import re

from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.shapes import Parsed, Shapes, number
from beam_pipeline.sources.annotations.side_files import SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed

# By number; the first are regions in which nobody looked.
_CLASSES = (
    *("ignored regions", "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle"),
    *("awning-tricycle", "bus", "motor", "others"),
)
_SPLIT = re.compile(r"DET-(train|val|test)")
_LINE = re.compile(rb"\A(-?\d+,){7}-?\d+,?\s*(\n|\Z)")


class VisDroneFiles(SideFiles):
    """Text files in annotations/, and the images in images/."""

    suffix = "txt"
    noun = "label file"
    home = "annotations"
    image_home = "images"

    def split_of_folder(self, path: str) -> str | None:
        stated = _SPLIT.search(path)
        return stated[1] if stated else super().split_of_folder(path)

    def parse(self, data: bytes, annotation: str) -> Parsed:
        shapes = Shapes()
        for place, line in enumerate(storage.decoded(data, annotation).splitlines(), start=1):
            fields = [each for each in line.split(",") if each.strip()]
            if not fields:
                continue
            numbers = [int(number(field, f"line {place}: a column")) for field in fields]
            if len(numbers) != 8 or not 0 <= numbers[5] < len(_CLASSES):
                raise malformed(f"line {place}: {line!r:.80} is not 8 numbers with a category")
            x, y, width, height, _, category, truncated, occluded = numbers
            if not category:
                shapes.left.append(_CLASSES[0])
                continue
            more = {"truncated": truncated, "occluded": occluded}
            shapes.box(_CLASSES[category], (x, y, x + width, y + height), more)
        return shapes.parsed()


LAYOUT = side_file_layout(
    name="visdrone",
    sign="annotations/*.txt of VisDrone and images/",
    files=VisDroneFiles(),
    begins=_LINE,
)
