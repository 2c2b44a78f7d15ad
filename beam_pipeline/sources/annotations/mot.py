"""The layout `mot`: frames of videos with boxes and tracks, as in the MOT challenges.

Source of the format: https://motchallenge.net/instructions/: frame, track, left, top, width,
height, whether to consider it, class, visibility.
"""

import re
from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import naming
from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.image_files import AnnotationFile
from beam_pipeline.sources.annotations.item_files import MAX_TEXT_BYTES, Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import number, numbers, sized
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.references import name_of, parent

_CLASSES = (
    *("pedestrian", "person on vehicle", "car", "bicycle", "motorbike", "non motorized vehicle"),
    *("static person", "distractor", "occluder", "occluder on the ground", "occluder full"),
    *("reflection", "crowd"),
)


class MotFiles(ItemFiles):
    """gt/gt.txt, and the frames in img1/."""

    suffix = "txt"
    depth = 3
    name = "gt.txt"
    sign = re.compile(rb"\A\d+,\d+,(-?[\d.]+,){5,7}-?[\d.]+\s*(\n|\Z)")

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        frames: dict[int, list[tuple[int, list[str]]]] = {}
        for place, line in enumerate(storage.read_text(file.path, MAX_TEXT_BYTES).splitlines(), 1):
            if line.strip():
                fields = line.split(",")
                frame = int(number(fields[0], f"line {place}: a frame"))
                frames.setdefault(frame, []).append((place, fields))
        sequence = name_of(parent(parent(file.path)))
        for frame, rows in sorted(frames.items()):
            yield f"frame {frame}", (sequence, frame, rows)

    def item(self, stated: Any) -> Item:
        sequence, frame, rows = stated
        shapes = self.shapes()
        for place, fields in rows:
            with naming(f"line {place}"):
                _, track, *sides, counts, category, visibility = numbers(fields, 9)
                if not 1 <= category <= len(_CLASSES):
                    raise malformed(f"class {category} is not one of {len(_CLASSES)}")
                more = {"track/label": int(track), "counts": int(counts), "visibility": visibility}
                shapes.box(_CLASSES[int(category) - 1], sized(*sides), more)
        return Item(f"../img1/{frame:06d}.jpg", *shapes.parsed(), group=sequence)


LAYOUT = layout_of("mot", "gt/gt.txt and img1/ of MOT", MotFiles())
