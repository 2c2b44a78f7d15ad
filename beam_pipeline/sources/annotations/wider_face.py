"""The layout `widerface`: a text file with the faces of all images, as in WIDER FACE.

Source of the format: http://shuoyang1213.me/WIDERFACE/, readme.txt: a path, the number of
faces, a line of ten numbers per face; an image without faces has a line of zeros.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.image_files import AnnotationFile
from beam_pipeline.sources.annotations.item_files import MAX_TEXT_BYTES, Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import numbers, sized
from beam_pipeline.sources.malformed import malformed

_ATTRIBUTES = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")


class WiderFaceFiles(ItemFiles):
    """wider_face_train_bbx_gt.txt and the like."""

    suffix = "txt"
    sign = re.compile(rb"\A[^\n]+\.jpe?g\s*\n\d+\s*\n(-?\d+ ){9}-?\d+", re.IGNORECASE)
    places = ("WIDER_{split}/images", "images")

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        lines = enumerate(storage.read_text(file.path, MAX_TEXT_BYTES).splitlines(), start=1)
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

    def item(self, stated: Any) -> Item:
        name, rows = stated
        shapes = self.shapes()
        for row in rows:
            values = numbers(row.split(), 4 + len(_ATTRIBUTES))
            more = dict(zip(_ATTRIBUTES, map(int, values[4:]), strict=True))
            shapes.box("face", sized(*values[:4]), more)
        return Item(name, *shapes.parsed())


LAYOUT = layout_of("widerface", "wider_face_*_bbx_gt.txt and WIDER_*/images/", WiderFaceFiles())
