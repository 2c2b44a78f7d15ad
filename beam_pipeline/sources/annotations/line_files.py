"""Text files with a line per object.

The layouts `dota`, `kitti` and `visdrone` have a file per image, `mot` and `widerface` one of all
images. Sources of the formats:

- https://captain-whu.github.io/DOTA/dataset.html: x, y of four corners in pixels, category,
  difficult; lines "imagesource:" and "gsd:" may precede them.
- The development kit of https://www.cvlibs.net/datasets/kitti/eval_object.php, readme.txt: type,
  truncated (0 to 1), occluded (0 to 3), alpha (radians), box (left, top, right, bottom),
  dimensions, location, rotation_y; results add a score. -1 (alpha: -10) means unknown.
- https://github.com/VisDrone/VisDrone2018-DET-toolkit: left, top, width, height, score, category,
  truncation, occlusion.
- https://motchallenge.net/instructions/: frame, track, left, top, width, height, whether to
  consider it, class, visibility.
- http://shuoyang1213.me/WIDERFACE/, readme.txt: a path, the number of faces, a line of ten numbers
  per face; an image without faces has a line of zeros.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from beam_pipeline.errors import naming
from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.item_files import (
    MAX_TEXT_BYTES,
    Item,
    ItemFormat,
    layout_of,
)
from beam_pipeline.sources.annotations.shapes import (
    Parsed,
    Shapes,
    number,
    numbers,
    parse_lines,
    sized,
)
from beam_pipeline.sources.annotations.side_files import Pairing, side_file_layout, split_in_folders
from beam_pipeline.sources.paths import is_in, name_of, parent
from beam_pipeline.sources.rejects import malformed
from tfrecord_dataset.delimited import bare_lines

Add = Callable[[Shapes, Sequence[str]], None]
"""Add the object in the fields of a line; raise RecordError if it is invalid."""


def label_files(add: Add, home: str, image_home: str, separator: str | None = None) -> Pairing:
    """Pair text files with a line per object and fields separated by spaces or `separator`."""
    parse = functools.partial(_parse, add=add, separator=separator)
    return Pairing(
        suffix="txt",
        noun="label file",
        parse=parse,
        home=home,
        image_homes=(image_home,),
        is_annotation=functools.partial(is_in, home=home),
    )


def _parse(data: bytes, annotation: str, add: Add, separator: str | None) -> Parsed:
    shapes = Shapes()
    text = storage.decoded(data, annotation)
    parse_lines(text, functools.partial(add, shapes), separator)
    return shapes.parsed()


def _add_dota(shapes: Shapes, fields: Sequence[str]) -> None:
    header = fields[0].partition(":")[0].lower()
    if header in ("imagesource", "gsd"):
        shapes.left.append(header)
    elif len(fields) in (9, 10):
        difficult = int(number(fields[9] if fields[9:] else 0))
        shapes.turned_box(fields[8], fields[:8], {"difficult": difficult})
    else:
        raise malformed(
            f"{len(fields)} columns; an object has x, y of four corners, a category and difficult"
        )


_DOTA_SIGN = "labelTxt/*.txt and images/"
DOTA = side_file_layout("dota", _DOTA_SIGN, label_files(_add_dota, "labeltxt", "images"))


def _add_kitti(shapes: Shapes, fields: Sequence[str]) -> None:
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


KITTI_FILES = dataclasses.replace(
    label_files(_add_kitti, "label_2", "image_2"),
    set_folders=("", "main"),
    unlabelled="testing",
)
KITTI = side_file_layout("kitti", "label_2/*.txt and image_2/", KITTI_FILES)


# By number; the first is for regions that nobody annotated.
_VISDRONE_CLASSES = (
    *("ignored regions", "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle"),
    *("awning-tricycle", "bus", "motor", "others"),
)
_VISDRONE_LINE = re.compile(rb"\A(-?\d+,){7}-?\d+,?\s*(\n|\Z)")


def _add_visdrone(shapes: Shapes, fields: Sequence[str]) -> None:
    x, y, width, height, _, category, truncated, occluded = map(int, numbers(fields, 8))
    if not 0 <= category < len(_VISDRONE_CLASSES):
        raise malformed(f"category {category} is not one of {len(_VISDRONE_CLASSES)}")
    if not category:
        shapes.left.append(_VISDRONE_CLASSES[0])
        return
    more = {"truncated": truncated, "occluded": occluded}
    shapes.box(_VISDRONE_CLASSES[category], sized(x, y, width, height), more)


VISDRONE = side_file_layout(
    "visdrone",
    "annotations/*.txt of VisDrone and images/",
    dataclasses.replace(
        label_files(_add_visdrone, "annotations", "images", ","),
        split_of=split_in_folders,
    ),
    _VISDRONE_LINE,
)


_MOT_CLASSES = (
    *("pedestrian", "person on vehicle", "car", "bicycle", "motorbike", "non motorized vehicle"),
    *("static person", "distractor", "occluder", "occluder on the ground", "occluder full"),
    *("reflection", "crowd"),
)


def _frames(path: str) -> Iterator[tuple[str, Any]]:
    frames: dict[int, list[tuple[int, list[str]]]] = {}
    for place, line in enumerate(bare_lines(storage.read_text(path, MAX_TEXT_BYTES)), 1):
        if line.strip():
            fields = line.split(",")
            frame = int(number(fields[0], f"line {place}: a frame"))
            frames.setdefault(frame, []).append((place, fields))
    sequence = name_of(parent(parent(path)))
    for frame, rows in sorted(frames.items()):
        yield f"frame {frame}", (sequence, frame, rows)


def _mot_item(stated: Any, shapes: Shapes) -> Item:
    sequence, frame, rows = stated
    for place, fields in rows:
        with naming(f"line {place}"):
            _, track, *sides, counts, category, visibility = numbers(fields, 9)
            if not 1 <= category <= len(_MOT_CLASSES):
                raise malformed(f"class {category} is not one of {len(_MOT_CLASSES)}")
            more = {"track/label": int(track), "counts": int(counts), "visibility": visibility}
            shapes.box(_MOT_CLASSES[int(category) - 1], sized(*sides), more)
    return Item(f"../img1/{frame:06d}.jpg", *shapes.parsed(), group=sequence)


_MOT = ItemFormat(
    suffix="txt",
    sign=re.compile(rb"\A\d+,\d+,(-?[\d.]+,){5,7}-?[\d.]+\s*(\n|\Z)"),
    item=_mot_item,
    stated=_frames,
    depth=3,
    name="gt.txt",
)
MOT = layout_of("mot", "gt/gt.txt and img1/ of MOT", _MOT)


_FACE_ATTRIBUTES = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")


def _photographs(path: str) -> Iterator[tuple[str, Any]]:
    lines = enumerate(bare_lines(storage.read_text(path, MAX_TEXT_BYTES)), start=1)
    for place, name in lines:
        if not name.strip():
            continue
        count = next(lines, (0, ""))[1].strip()
        if not count.isdecimal() or len(count) > 9:
            raise malformed(f"line {place + 1}: {count!r:.40}, not the number of faces")
        rows = [row for _, row in itertools.islice(lines, max(int(count), 1))][: int(count)]
        if len(rows) < int(count):
            raise malformed(f"line {place + 1}: {count} faces, but the file has {len(rows)}")
        yield f"line {place}", (name.strip(), rows)


def _faces(stated: Any, shapes: Shapes) -> Item:
    name, rows = stated
    for row in rows:
        values = numbers(row.split(), 4 + len(_FACE_ATTRIBUTES))
        more = dict(zip(_FACE_ATTRIBUTES, map(int, values[4:]), strict=True))
        shapes.box("face", sized(*values[:4]), more)
    return Item(name, *shapes.parsed())


_WIDER_FACE = ItemFormat(
    suffix="txt",
    sign=re.compile(rb"\A[^\n]+\.jpe?g\s*\n\d+\s*\n(-?\d+ ){9}-?\d+", re.IGNORECASE),
    item=_faces,
    stated=_photographs,
)
WIDER_FACE = layout_of("widerface", "wider_face_*_bbx_gt.txt and WIDER_*/images/", _WIDER_FACE)
