"""The layout `voc`: XML files, and the images that they annotate.

Source of the format: the VOC2012 development kit,
http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html.
"""

import functools
import math
import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from beam_pipeline.errors import naming
from beam_pipeline.sources.annotations.shapes import (
    Parsed,
    Shapes,
    number,
    stated_size,
    turned_corners,
)
from beam_pipeline.sources.annotations.side_files import Pairing, StatedImage, side_file_layout
from beam_pipeline.sources.paths import folder, shared_name, split_at
from beam_pipeline.sources.rejects import malformed

# The third is from ILSVRC, the last two are from DIOR.
_IMAGE_FOLDERS = ("jpegimages", "images", "data", "jpegimages-trainval", "jpegimages-test")
_ROOT = re.compile(rb"<annotation[\s>]")
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_ATTRIBUTES = ("difficult", "truncated", "occluded")
_KEPT = frozenset({"name", "bndbox", "deleted", *_ATTRIBUTES})
# Those of a rotated box in place of <bndbox>, or in it, as RRPN reads them.
_NAMES_OF_CORNERS = tuple(
    [f"{axis}{start + corner}" for corner in range(4) for axis in "xy"] for start in (0, 1)
)
_OUTLINES = frozenset({"type", "robndbox", "polygon"}.union(*_NAMES_OF_CORNERS))
# The corners of a rotated box in DIOR.
_TURNED = [
    f"{axis}_{side}"
    for side in ("left_top", "right_top", "right_bottom", "left_bottom")
    for axis in "xy"
]
_WORDS = {"": 0, "no": 0, "yes": 1}  # in LabelMe's original format
# Values that tools write by default.
_UNSAID = frozenset({"", "unspecified", "unknown"})


def parse_xml(data: bytes) -> Element:
    """Parse an annotation's XML; entities are not allowed."""
    try:
        element: Element = fromstring(data)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise malformed(f"not usable as XML: {error}") from error
    if element.tag != "annotation":
        raise malformed(f"the root element is <{element.tag}>, not <annotation>")
    return element


def _add(shapes: Shapes, name: str, item: Element) -> None:
    """Add an object: its upright box if present, else its rotated box or polygon."""
    more = {attribute: _whole_number(item, attribute) for attribute in _ATTRIBUTES}
    box, turned, corners = item.find("bndbox"), item.find("robndbox"), item.findall("polygon/pt")
    if stated := _stated_corners(item):
        shapes.turned_box(name, stated, more)
    elif box is None and turned is not None:
        shapes.turned_box(name, _turned(turned), more)
    elif box is None and corners:
        shapes.polygon(name, [[each for corner in corners for each in _read(corner, "xy")]], more)
    elif box is None:
        raise malformed("it has no <bndbox>")
    else:
        shapes.box(name, _read(box, _SIDES), more)


def _stated_corners(item: Element) -> list[float]:
    """Read x, y of four numbered corners, in an object or its box; empty if it has no such."""
    place = item if (box := item.find("bndbox")) is None else box
    is_upright = place.find(_SIDES[0]) is not None
    named = next((names for names in _NAMES_OF_CORNERS if place.find(names[0]) is not None), None)
    return [] if is_upright or named is None else _read(place, named)


def _turned(box: Element) -> list[float]:
    if box.find("cx") is None:
        return _read(box, _TURNED)
    x, y, width, height, angle = _read(box, ("cx", "cy", "w", "h", "angle"))  # from roLabelImg
    upright = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    return turned_corners(upright, math.degrees(angle), (x, y))


def _read(element: Element, members: Sequence[str]) -> list[float]:
    return [number(element.findtext(member), f"<{member}>") for member in members]


def _left_behind(item: Element) -> Iterator[str]:
    """Members of an object that are not kept: all but name, box and attributes."""
    for member in item:
        says = "" if member.text is None else member.text.strip().lower()
        is_outline = item.find("bndbox") is None and member.tag in _OUTLINES
        is_kept = member.tag in _KEPT or is_outline
        if not is_kept and (len(member) or says not in _UNSAID):
            yield str(member.tag)


def _whole_number(item: Element, attribute: str) -> int:
    text = (item.findtext(attribute) or "").strip()
    try:
        return int(_WORDS.get(text, text))
    except ValueError:
        raise malformed(f"<{attribute}> is {text!r}, not a whole number") from None


def _image_keys(annotation: str, name: str) -> Iterator[str]:
    return (f"{place}/{shared_name(name)}" for place in image_folders(folder(annotation)))


def _named_image(data: bytes) -> str:
    name = (parse_xml(data).findtext("filename") or "").strip()
    return name.replace("\\", "/").rpartition("/")[2]


def parse_voc(data: bytes, annotation: str, box_format: str = "") -> Parsed:
    """The objects of an XML file, whose boxes are "xyxy" unless `box_format` states another."""
    root = parse_xml(data)
    if root.find("object") is None and root.find("objects/object") is not None:
        raise malformed("its objects are in <objects>, as in FAIR1M; write them as DOTA's labelTxt")
    size = [root.findtext(f"size/{side}") for side in ("width", "height")]
    shapes = Shapes(stated_size(*size), box_format or "xyxy")
    for place, item in enumerate(root.findall("object"), start=1):
        if (item.findtext("deleted") or "").strip() == "1":  # LabelMe's original format
            continue
        name = (item.findtext("name") or "").strip()
        with naming(f"object {place}" + (f" ({name})" if name else "")):
            _add(shapes, name, item)
        shapes.left += _left_behind(item)
    return shapes.parsed()


@functools.lru_cache(maxsize=1024)
def image_folders(annotation_folder: str) -> list[str]:
    """Possible image folders, in lower case, for annotations in a folder."""
    own = annotation_folder.lower()
    if split := split_at(f"{own}/", "annotations"):
        home, inner = split
        places = [_join(home, name, inner) for name in (*_IMAGE_FOLDERS, "")]
        return [*places, *(_join(home, name) for name in (*_IMAGE_FOLDERS, "")), own]
    return [own, *(_join(place, name) for place in (own, folder(own)) for name in _IMAGE_FOLDERS)]


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))


FILES = Pairing(
    suffix="xml",
    noun="XML file",
    parse=parse_voc,
    home="annotations",  # if there is one, only the files below it
    image_keys=_image_keys,
    stated=StatedImage("<filename>", _named_image),
    set_folders=("main", ""),
)
_SIGN = "Annotations/*.xml, or .xml files next to their images"
LAYOUT = side_file_layout("voc", _SIGN, FILES, _ROOT, ["box_format"])
