"""The layout `kitti`: a text file per image, a line per object, as KITTI's object benchmark has it.

Source of the format: the development kit of https://www.cvlibs.net/datasets/kitti/eval_object.php,
readme.txt: type, truncated, occluded, alpha, box (left, top, right, bottom), dimensions, location,
rotation_y; of results also a score.
"""

from collections.abc import Sequence

from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.shapes import Parsed, Shapes, naming, number
from beam_pipeline.sources.annotations.side_files import SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed


class KittiFiles(SideFiles):
    """Text files in label_2/, and the images in image_2/."""

    suffix = "txt"
    noun = "label file"
    home = "label_2"
    image_home = "image_2"
    set_folders = ("", "main")
    unlabelled = "testing"

    def parse(self, data: bytes, annotation: str) -> Parsed:
        """The objects of one label file, and what of its lines is not kept.

        Boxes are "xyxy" in pixels, as written. The attributes are truncated (0 to 1), occluded (0
        to 3) and alpha (radians), and score where there are 16 columns; -1, or -10 of alpha, is
        unknown.

        Raises:
            RecordError: "malformed annotation", with the line's number (from 1).
        """
        shapes = Shapes()
        for place, line in enumerate(storage.decoded(data, annotation).splitlines(), start=1):
            if fields := line.split():
                with naming(f"line {place}"):
                    _add(shapes, fields)
        return shapes.parsed()


def _add(shapes: Shapes, fields: Sequence[str]) -> None:
    if len(fields) not in (15, 16):
        raise malformed(f"{len(fields)} columns; an object has 15, or 16 with a score")
    row = [number(field, f"column {place}") for place, field in enumerate(fields[1:], start=2)]
    if not row[1].is_integer():
        raise malformed(f"occluded is {fields[2]!r}, not a whole number from 0 to 3")
    if fields[0] == "DontCare":
        shapes.left.append(fields[0])
        return
    more = {"truncated": row[0], "occluded": int(row[1]), "alpha": row[2]}
    shapes.box(fields[0], row[3:7], more | ({"score": row[14]} if row[14:] else {}))
    shapes.left += ["3D box"] * (max(row[7:10]) > 0)


LAYOUT = side_file_layout(
    name="kitti",
    sign="label_2/*.txt and image_2/",
    files=KittiFiles(),
)
