"""The layout `kitti`: a text file per image, a line per object, as in KITTI's benchmark.

Source of the format: the development kit of https://www.cvlibs.net/datasets/kitti/eval_object.php,
readme.txt: type, truncated (0 to 1), occluded (0 to 3), alpha (radians), box (left, top, right,
bottom), dimensions, location, rotation_y; results add a score. -1 (alpha: -10) means unknown.
"""

from collections.abc import Sequence

from beam_pipeline.sources.annotations.shapes import Shapes, numbers
from beam_pipeline.sources.annotations.side_files import LineFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed


class KittiFiles(LineFiles):
    """Text files in label_2/, and the images in image_2/."""

    home = "label_2"
    image_home = "image_2"
    set_folders = ("", "main")
    unlabelled = "testing"

    def add(self, shapes: Shapes, fields: Sequence[str]) -> None:
        if len(fields) not in (15, 16):
            raise malformed(f"{len(fields)} columns; an object has 15, or 16 with a score")
        row = numbers(fields[1:])
        if not row[1].is_integer():
            raise malformed(f"occluded is {fields[2]!r}, not a whole number from 0 to 3")
        if fields[0] == "DontCare":
            shapes.left.append(fields[0])
            return
        more = {"truncated": row[0], "occluded": int(row[1]), "alpha": row[2]}
        shapes.box(fields[0], row[3:7], more | ({"score": row[14]} if row[14:] else {}))
        shapes.left += ["3D box"] * (max(row[7:10]) > 0)


LAYOUT = side_file_layout("kitti", "label_2/*.txt and image_2/", KittiFiles())
