"""The layout `kitti`: a text file an image, a line an object, as KITTI's object benchmark has it.

Source of the format: the development kit of https://www.cvlibs.net/datasets/kitti/eval_object.php,
readme.txt: type, truncated, occluded, alpha, box (left, top, right, bottom), dimensions, location,
rotation_y; of results also a score.
"""

import math
from collections.abc import Sequence

from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.records import Objects
from beam_pipeline.sources.annotations.shapes import Told
from beam_pipeline.sources.annotations.side_files import SideFiles, side_file_layout
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed

_COLUMNS = 14  # numbers after the type, without a score
_MAX_OCCLUDED = 1000


class KittiFiles(SideFiles):
    """Text files in label_2/, of the images in image_2/ beside it."""

    suffix = "txt"
    noun = "label file"
    home = "label_2"
    image_home = "image_2"
    set_folders = ("", "main")
    unlabelled = "testing"

    def parse(self, data: bytes, annotation: str) -> Told:
        """The objects of one label file, and what of its lines is not kept.

        Boxes are "xyxy" in pixels, as written. The attributes are truncated (0 to 1), occluded (0
        to 3) and alpha (radians), and score where there are 16 columns; -1, or -10 of alpha, is
        unknown.

        Raises:
            RecordError: "malformed annotation", with the line's number (from 1).
        """
        text = storage.decoded(data, annotation)
        check_number(text.count("\n"))
        rows, labels, left = list[list[float]](), list[str](), list[str]()
        for number, line in enumerate(text.splitlines(), start=1):
            if not (fields := line.split()):
                continue
            try:
                row = _numbers(fields, len(rows[0]) if rows else None)
            except ValueError as error:
                raise malformed(f"line {number}: {error}") from None
            if fields[0] == "DontCare":
                left.append(fields[0])
                continue
            rows.append(row)
            labels.append(fields[0])
            left += ["3D box"] * (max(row[7:10]) > 0)
        attributes: dict[str, tuple[int | float, ...]] = {
            "truncated": tuple(row[0] for row in rows),
            "occluded": tuple(int(row[1]) for row in rows),
            "alpha": tuple(row[2] for row in rows),
        }
        if rows and len(rows[0]) > _COLUMNS:
            attributes["score"] = tuple(row[_COLUMNS] for row in rows)
        boxes = tuple((row[3], row[4], row[5], row[6]) for row in rows)
        objects = Objects(boxes=boxes, labels=tuple(labels), attributes=attributes)
        return {"boxes": objects}, not_kept(left)


def _numbers(fields: Sequence[str], expected: int | None) -> list[float]:
    """The columns after the type: 14, or 15 with a score; as many as in earlier lines."""
    if len(fields) - 1 not in (_COLUMNS, _COLUMNS + 1):
        raise ValueError(f"{len(fields)} columns; an object has 15, or 16 with a score")
    if expected and expected != len(fields) - 1 and fields[0] != "DontCare":
        raise ValueError(f"{len(fields)} columns, where an earlier line has {expected + 1}")
    row = []
    for column, field in enumerate(fields[1:], start=2):
        try:
            row.append(float(field))
        except ValueError:
            row.append(math.nan)
        if not math.isfinite(row[-1]):
            raise ValueError(f"column {column} is {field!r}, not a number")
    if row[1] != int(row[1]) or abs(row[1]) > _MAX_OCCLUDED:
        raise ValueError(f"occluded is {fields[2]!r}, not a whole number from 0 to 3")
    return row


LAYOUT = side_file_layout(
    name="kitti",
    sign="label_2/*.txt and image_2/",
    files=KittiFiles(),
)
