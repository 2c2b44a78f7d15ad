"""Draws an Example's objects, map and names on its image."""

import dataclasses
import itertools
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from beam_pipeline.kinds.masks import mask_of, pixels_of
from beam_pipeline.kinds.wording import brief
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.images import decode_rgb
from beam_pipeline.media.maps import IGNORED, read_numbers
from beam_pipeline.records import Objects
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists
from tfrecord_dataset.map_colors import class_name, is_drawn, palette
from tfrecord_dataset.values import numpy_values

Color = tuple[int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Rectangle = tuple[float, float, float, float]

# Distinct from each other and in most photographs; repeated for more classes.
COLORS: tuple[Color, ...] = (
    (230, 25, 75), (60, 180, 75), (0, 110, 230), (255, 190, 0), (200, 50, 230), (0, 200, 210),
    (245, 120, 20), (150, 220, 30), (250, 130, 190), (110, 70, 220), (0, 128, 128), (150, 75, 20),
)  # fmt: skip
_BLACK: Color = (0, 0, 0)
_WHITE: Color = (255, 255, 255)
_STRIP: Color = (32, 32, 32)
# Smaller images are enlarged to about this side, in pixels, to make names legible.
_READABLE_SIDE = 400
# Opacity of a mask, of 255.
_SEEN_THROUGH = np.uint8(110)
_SHARE = 0.5  # opacity of a map
_NEAR, _FAR = np.array([255, 200, 0]), np.array([40, 0, 160])


class Shading(NamedTuple):
    """A map to draw over an image: of classes, or of depths if it has none."""

    data: bytes
    classes: Sequence[str]


class Named(NamedTuple):
    """A class that occurs in a map: name, colour, and a pixel of it, as fractions."""

    name: str
    color: tuple[int, int, int]
    x: float
    y: float


def draw_example(
    features: Sequence[Feature], example: Mapping[str, Any], most_side: int | None = None
) -> Image.Image | None:
    """Draw an example's image with its objects, map and names; None without an image."""
    by_kind = {feature.kind: feature for feature in reversed(features)}
    if "image" not in by_kind:
        return None
    lists = {key: ("", values) for key, values in example.items()}
    label = boxes = shading = None
    classes: Sequence[str] = ()
    if feature := by_kind.get("class_label"):
        label = ", ".join(class_names(feature, numpy_values(feature, lists)[feature.name]))
    if feature := by_kind.get("map"):
        shading = Shading(example[feature.key][0], feature.classes)
    if feature := by_kind.get("boxes"):
        boxes, classes = _boxes(feature, lists), feature.classes
    image = example[by_kind["image"].key][0]
    return draw(image, boxes, label, classes=classes, shading=shading, most_side=most_side)


def class_names(feature: Feature, numbers: Any) -> list[str]:
    """Class names for one or several numbers; -1 is none."""
    return [
        class_name(feature.classes, number)
        for number in np.atleast_1d(numbers).tolist()
        if isinstance(number, int) and number >= 0
    ]


def _boxes(feature: Feature, lists: Lists) -> Objects:
    values = numpy_values(dataclasses.replace(feature, name="boxes"), lists)
    _, names = lists.get(feature.subkey("class/text"), ("", ()))
    points = values["keypoints"].tolist() if feature.keypoints else ()
    return Objects(
        boxes=tuple(map(tuple, values["boxes"].tolist())),
        format="rel_xyxy",
        labels=tuple(name.decode(errors="replace") for name in names),
        keypoints=tuple(tuple(itertools.chain.from_iterable(point)) for point in points),
        polygons=tuple(map(json.loads, values.get("polygons", ()))),
        masks=tuple(map(mask_of, values.get("masks", ()))),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Canvas:
    """Where and how large to draw, in pixels."""

    draw: ImageDraw.ImageDraw
    width: int
    height: int
    line: int
    font: Font


def draw(
    data: bytes,
    boxes: Objects | None = None,
    label: str | None = None,
    *,
    classes: Sequence[str] = (),
    shading: Shading | None = None,
    most_side: int | None = None,
) -> Image.Image:
    """Draw an encoded image with its objects and their names, and its own label below it.

    Lines and letters scale with the image; an image whose longer side is under 400 pixels is
    enlarged by a whole factor. The font is Pillow's own, which has Latin letters.

    Args:
        boxes: In format "rel_xyxy".
        classes: All classes in order, so that each has its own colour; without them the colour
            depends on the name.
        most_side: Longer side in pixels; larger images are scaled down first, which is cheaper.

    Raises:
        RecordError: `data` or the map cannot be decoded.
    """
    image = decode_rgb(data, most_side)
    if (longest := max(image.size)) < _READABLE_SIDE:
        factor = -(-_READABLE_SIDE // longest)
        image = image.resize(
            (image.width * factor, image.height * factor), Image.Resampling.NEAREST
        )
    named: list[Named] = []
    if shading is not None:
        image, named = shaded(image, shading)
    side = math.sqrt(image.width * image.height)
    canvas = _Canvas(
        draw=ImageDraw.Draw(image),
        width=image.width,
        height=image.height,
        line=max(2, round(side / 320)),
        font=ImageFont.load_default(size=max(14, round(side / 36))),
    )
    if boxes is not None:
        _fill_masks(image, boxes, classes)
        _draw_boxes(canvas, boxes, classes)
    for each in named:
        x, y = each.x * canvas.width, each.y * canvas.height
        _draw_name(canvas, each.name, (x, y, x, y), each.color)
    if label is not None:
        image = _with_strip(image, label, canvas.font)
    return image


def color_of(name: str, classes: Sequence[str] = ()) -> Color:
    """Return the colour of a class by its position in `classes`, else by its name."""
    index = classes.index(name) if name in classes else zlib.crc32(name.encode())
    return COLORS[index % len(COLORS)]


def _draw_boxes(canvas: _Canvas, boxes: Objects, classes: Sequence[str]) -> None:
    names = boxes.labels or ("",) * len(boxes.boxes)
    right, bottom = canvas.width - 1, canvas.height - 1
    in_pixels = [
        (xmin * right, ymin * bottom, xmax * right, ymax * bottom)
        for xmin, ymin, xmax, ymax in boxes.boxes
    ]
    # Large boxes first, so that small ones and all names stay on top.
    areas = [(xmax - xmin) * (ymin - ymax) for xmin, ymin, xmax, ymax in in_pixels]
    order = sorted(range(len(areas)), key=areas.__getitem__)
    for index in order:
        color = color_of(names[index], classes)
        canvas.draw.rectangle(in_pixels[index], outline=color, width=canvas.line)
        for ring in boxes.polygons[index] if boxes.polygons else ():
            _draw_ring(canvas, ring, color)
    for index in order:
        if names[index]:
            _draw_name(canvas, names[index], in_pixels[index], color_of(names[index], classes))
    for triples in boxes.keypoints:  # over names, which mark single points
        _draw_keypoints(canvas, triples)


def _fill_masks(image: Image.Image, boxes: Objects, classes: Sequence[str]) -> None:
    """Colour the pixels of each mask; the image shows through."""
    names = boxes.labels or ("",) * len(boxes.boxes)
    for mask, name in zip(boxes.masks, names, strict=False):
        if mask is not None:
            shown = Image.fromarray(pixels_of(mask) * _SEEN_THROUGH).resize(image.size)
            image.paste(color_of(name, classes), mask=shown)


def _draw_ring(canvas: _Canvas, ring: Sequence[float], color: Color) -> None:
    corners = [
        (x * (canvas.width - 1), y * (canvas.height - 1))
        for x, y in zip(ring[::2], ring[1::2], strict=True)
    ]
    canvas.draw.line([*corners, corners[0]], color, canvas.line)


def _draw_keypoints(canvas: _Canvas, triples: tuple[float, ...]) -> None:
    radius = canvas.line * 1.5
    for x, y, visibility in zip(triples[::3], triples[1::3], triples[2::3], strict=True):
        if visibility > 0:
            center = (x * (canvas.width - 1), y * (canvas.height - 1))
            canvas.draw.circle(center, radius, fill=_WHITE, outline=_BLACK)


def _draw_name(canvas: _Canvas, name: str, box: Rectangle, color: Color) -> None:
    """Draw a name above its box, moved into the image if necessary."""
    name = brief(name)  # measuring 5,000 characters takes a second
    corner, draw = (box[0], box[1]), canvas.draw
    _, top, right, _ = draw.textbbox(corner, name, canvas.font, "lb", stroke_width=canvas.line)
    x = max(0.0, corner[0] + min(0.0, canvas.width - right))
    y = corner[1] + max(0.0, -top)
    place = draw.textbbox((x, y), name, canvas.font, "lb", stroke_width=canvas.line)
    draw.rectangle(place, fill=color)
    draw.text((x, y), name, _WHITE, canvas.font, "lb", stroke_width=1, stroke_fill=_BLACK)


def _with_strip(image: Image.Image, text: str, font: Font) -> Image.Image:
    """Add a dark strip with `text` below `image`, cut to fit."""
    text = brief(text)
    _, top, _, bottom = ImageDraw.Draw(image).textbbox((0, 0), "Ág", font=font)
    padding = max(3, int(bottom - top) // 4)
    framed = Image.new("RGB", (image.width, image.height + int(bottom - top) + 2 * padding), _STRIP)
    framed.paste(image, (0, 0))
    ImageDraw.Draw(framed).text((padding, image.height + padding - top), text, _WHITE, font)
    return framed


def shaded(image: Image.Image, shading: Shading) -> tuple[Image.Image, list[Named]]:
    """Draw a map over an RGB image, and return the places for its class names."""
    numbers = read_numbers(shading.data, DECODER_MAX_PIXELS)
    if numbers.dtype == np.uint8:
        number_of = [
            each
            for each in np.unique(numbers).tolist()
            if each != IGNORED and is_drawn(shading.classes, each)
        ]
        named = [_named(numbers, each, shading) for each in number_of]
        colors = np.zeros((256, 3))
        colors[number_of] = [each.color for each in named] or 0
        over, covers = colors[numbers], np.isin(numbers, number_of)
    else:
        named, covers = [], numbers > 0
        over = _of_depths(numbers, covers)
    size = (image.width, image.height)
    layer = Image.fromarray(over.astype(np.uint8)).resize(size, Image.Resampling.NEAREST)
    mask = Image.fromarray(np.where(covers, round(255 * _SHARE), 0).astype(np.uint8))
    image = image.copy()
    image.paste(layer, (0, 0), mask.resize(size, Image.Resampling.NEAREST))
    return image, named


def _named(numbers: npt.NDArray[np.integer], number: int, shading: Shading) -> Named:
    """Return the pixel of a class nearest to the class's centre."""
    pixels = np.argwhere(numbers == number)
    row, column = pixels[np.square(pixels - pixels.mean(axis=0)).sum(axis=-1).argmin()]
    height, width = numbers.shape
    red, green, blue = palette()[number].tolist()
    name = class_name(shading.classes, number)
    return Named(name, (red, green, blue), column / width, row / height)


def _of_depths(
    numbers: npt.NDArray[np.integer], known: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Colours from nearest to farthest."""
    least, most = (int(numbers[known].min()), int(numbers[known].max())) if known.any() else (0, 1)
    share = ((numbers - float(least)) / max(1, most - least))[..., None].clip(0, 1)
    colors: npt.NDArray[np.float64] = _NEAR + (_FAR - _NEAR) * share
    return colors
