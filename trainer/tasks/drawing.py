"""Images with boxes or maps drawn on them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.map_colors import as_css, is_drawn, palette

# Opacity of the classes' colors on an image.
_OPACITY = 0.5
_COLORS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#00a0a0", "#f032e6", "#9a6324")


def label_corner(
    box: Sequence[float], text: tuple[float, float], image: ImageSize
) -> tuple[float, float]:
    """Place the text of a box at its corner, shifted to be completely inside the image."""
    whole_sides = (image.width, image.height)
    x, y = (
        max(0.0, min(at, whole - size))
        for at, size, whole in zip(box[:2], text, whole_sides, strict=True)
    )
    return x, y


def with_boxes(image: Any, boxes: Sequence[Mapping[str, Any]]) -> Any:
    """Draw boxes on a Pillow image in RGB, and return it.

    Each box has "label" (the class number), "text", and "box" in pixels. The first is on top.
    """
    from PIL import ImageDraw, ImageFont

    canvas, shown = ImageDraw.Draw(image), ImageSize(image.height, image.width)
    line = max(1, round(min(image.size) / 250))
    font = ImageFont.load_default(size=max(10, round(min(image.size) / 35)))
    for box in reversed(boxes):
        color = _COLORS[box["label"] % len(_COLORS)]
        canvas.rectangle(box["box"], outline=color, width=line)
        _, _, *size = canvas.textbbox((0, 0), box["text"], font=font)
        corner = label_corner(box["box"], (size[0], size[1]), shown)
        canvas.rectangle(canvas.textbbox(corner, box["text"], font=font), fill=color)
        canvas.text(corner, box["text"], fill="white", font=font)
    return image


def resized(classes: Any, size: ImageSize) -> Any:
    """Resize a map [height, width] by nearest pixels."""
    rows, columns = (
        np.minimum((np.arange(side) + 0.5) * old / side, old - 1).astype(np.int64)
        for side, old in zip(size, classes.shape, strict=True)
    )
    return classes[rows[:, None], columns]


def in_colors(classes: Any) -> Any:
    """Make a Pillow image of class numbers, uint8 [height, width], in the colors of `palette`."""
    from PIL import Image as Pixels

    image = Pixels.fromarray(classes)
    image.putpalette(palette().tobytes())
    return image


def tinted(pixels: Any, classes: Any, is_shown: Any) -> Any:
    """Blend pixels, uint8 [height, width, 3], with the colors of their classes."""
    over = _OPACITY * is_shown[..., None] * (palette()[classes] - pixels.astype(np.float32))
    return np.round(pixels + over).astype(np.uint8)


def is_colored(classes: Any, names: Sequence[str]) -> Any:
    """Whether each pixel has a class other than the background and those to ignore: bool."""
    return np.isin(classes, [each for each in range(len(names)) if is_drawn(names, each)])


def css_color(names: Sequence[str], number: int) -> str:
    """Return the color of a class, such as "#800000"; "" for the background."""
    return as_css(palette()[number]) if is_drawn(names, number) else ""


def with_map(image: Any, classes: Any, names: Sequence[str]) -> Any:
    """Draw the colors and names of classes on a Pillow image in RGB.

    `classes` are uint8 of any size. A class that is the background is not colored.
    """
    from PIL import Image as Pixels
    from PIL import ImageDraw, ImageFont

    classes = resized(classes, ImageSize(image.height, image.width))
    is_shown = is_colored(classes, names)
    image = Pixels.fromarray(tinted(np.asarray(image), classes, is_shown))
    canvas = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=max(10, round(min(image.size) / 35)))
    top = 0.0
    for number in np.unique(classes[is_shown]):
        place = canvas.textbbox((0, top), names[number], font=font)
        canvas.rectangle((0, top, place[2], place[3]), fill=tuple(palette()[number].tolist()))
        canvas.text((0, top), names[number], fill="white", font=font)
        top = place[3]
    return image
