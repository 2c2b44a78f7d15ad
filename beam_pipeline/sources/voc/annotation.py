"""One Pascal VOC annotation file: XML to boxes.

Source of the format: the VOC2012 development kit,
http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html.
"""

import math
from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from beam_pipeline.records import Objects
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from tfrecord_dataset.image_size import ImageSize

_ATTRIBUTES = ("difficult", "truncated", "occluded")
_KEPT = frozenset({"name", "bndbox", *_ATTRIBUTES})
# What tools write where nobody has said anything.
_UNSAID = frozenset({"", "unspecified", "unknown"})


def parse_xml(data: bytes) -> Element:
    """The root of an annotation's XML.

    Raises:
        RecordError: "malformed annotation": not well-formed, or with entities of its own.
    """
    try:
        element: Element = fromstring(data)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise malformed(f"not usable as XML: {error}") from error
    if element.tag != "annotation":
        raise malformed(f"the root element is <{element.tag}>, not <annotation>")
    return element


def parse_annotation(data: bytes, box_format: str = "xyxy") -> tuple[Objects, Counter[str]]:
    """The boxes of one VOC annotation, as it states them, and what of its objects is not kept.

    Args:
        data: XML.
        box_format: VOC's own is in pixels; "rel_xyxy" where somebody wrote fractions.

    Raises:
        RecordError: "malformed annotation", with the object's number (from 1) and value.
    """
    annotation = parse_xml(data)
    coordinates, labels, left = [], [], list[str]()
    attributes: dict[str, list[int]] = {name: [] for name in _ATTRIBUTES}
    for number, item in enumerate(annotation.findall("object"), start=1):
        name = (item.findtext("name") or "").strip()
        where = f"object {number}" + (f" ({name})" if name else "")
        if not name:
            raise malformed(f"{where} has no <name>")
        labels.append(name)
        coordinates.append(_corners(item.find("bndbox"), where))
        for attribute, values in attributes.items():
            values.append(_whole_number(item.findtext(attribute), attribute, where))
        left += _left_behind(item)
    boxes = Objects(
        boxes=tuple(coordinates),
        format=box_format,
        labels=tuple(labels),
        attributes={name: tuple(values) for name, values in attributes.items()},
        image_size=_stated_size(annotation.find("size")),
    )
    return boxes, not_kept(left)


def _left_behind(item: Element) -> Iterator[str]:
    """The members of an object that say something, beside its name, its box and attributes."""
    for member in item:
        says = "" if member.text is None else member.text.strip().lower()
        if member.tag not in _KEPT and (len(member) or says not in _UNSAID):
            yield str(member.tag)


def _corners(box: Element | None, where: str) -> tuple[float, float, float, float]:
    if box is None:
        raise malformed(f"{where} has no <bndbox>")
    xmin, ymin, xmax, ymax = (
        _coordinate(box.findtext(side), side, where) for side in ("xmin", "ymin", "xmax", "ymax")
    )
    return xmin, ymin, xmax, ymax


def _coordinate(text: str | None, side: str, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        found = "is missing" if text is None else f"is {text!r}, not a number"
        raise malformed(f"{where}: <{side}> {found}")
    return value


def _whole_number(text: str | None, attribute: str, where: str) -> int:
    if text is None or not text.strip():
        return 0
    try:
        return int(text)
    except ValueError:
        raise malformed(f"{where}: <{attribute}> is {text!r}, not a whole number") from None


def _stated_size(size: Element | None) -> ImageSize | None:
    """The size where both sides are stated and positive; many tools write 0, or nothing."""
    if size is None:
        return None
    try:
        width, height = int(size.findtext("width") or 0), int(size.findtext("height") or 0)
    except ValueError:
        return None
    return ImageSize(height, width) if width > 0 and height > 0 else None


def named_image(data: bytes) -> str:
    """The file name that the annotation gives to its image, without folders, or "".

    Raises:
        RecordError: "malformed annotation".
    """
    name = (parse_xml(data).findtext("filename") or "").strip()
    return name.replace("\\", "/").rpartition("/")[2]
