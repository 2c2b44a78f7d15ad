"""The layout `dota`: a text file an image, a line an oriented box, as DOTA has them.

Source of the format: https://captain-whu.github.io/DOTA/dataset.html: x, y of four corners in
pixels, category, difficult; before them perhaps "imagesource:" and "gsd:".
"""

import re

from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.shapes import Parsed, Shapes, number
from beam_pipeline.sources.annotations.side_files import SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed

_HEADER = re.compile(r"(imagesource|gsd)\s*:", re.IGNORECASE)


class DotaFiles(SideFiles):
    """Text files in labelTxt/, and the images in images/."""

    suffix = "txt"
    noun = "label file"
    home = "labeltxt"
    image_home = "images"

    def parse(self, data: bytes, annotation: str) -> Parsed:
        shapes = Shapes()
        for place, line in enumerate(storage.decoded(data, annotation).splitlines(), start=1):
            fields = line.split()
            if header := _HEADER.match(line):
                shapes.left.append(header[1].lower())
            elif len(fields) in (9, 10):
                corners = [number(field, f"line {place}: a corner") for field in fields[:8]]
                difficult = int(number(fields[9] if fields[9:] else 0, f"line {place}: difficult"))
                shapes.turned_box(fields[8], corners, {"difficult": difficult})
            elif fields:
                raise malformed(
                    f"line {place}: {len(fields)} columns; an object has x, y of four corners, a "
                    "category and difficult"
                )
        return shapes.parsed()


LAYOUT = side_file_layout(
    name="dota",
    sign="labelTxt/*.txt and images/",
    files=DotaFiles(),
)
