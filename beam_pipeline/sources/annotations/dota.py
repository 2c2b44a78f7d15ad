"""The layout `dota`: a text file per image, a line per oriented box, as in DOTA.

Source of the format: https://captain-whu.github.io/DOTA/dataset.html: x, y of four corners in
pixels, category, difficult; lines "imagesource:" and "gsd:" may precede them.
"""

from collections.abc import Sequence

from beam_pipeline.sources.annotations.shapes import Shapes, number
from beam_pipeline.sources.annotations.side_files import LineFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed


class DotaFiles(LineFiles):
    """Text files in labelTxt/, and the images in images/."""

    home = "labeltxt"
    image_home = "images"

    def add(self, shapes: Shapes, fields: Sequence[str]) -> None:
        header = fields[0].partition(":")[0].lower()
        if header in ("imagesource", "gsd"):
            shapes.left.append(header)
        elif len(fields) in (9, 10):
            difficult = int(number(fields[9] if fields[9:] else 0))
            shapes.turned_box(fields[8], fields[:8], {"difficult": difficult})
        else:
            raise malformed(
                f"{len(fields)} columns; an object has x, y of four corners, a category and "
                "difficult"
            )


LAYOUT = side_file_layout("dota", "labelTxt/*.txt and images/", DotaFiles())
