"""Images with the predicted boxes."""

from collections.abc import Mapping, Sequence
from typing import Any

from tfrecord_dataset.image_size import ImageSize

_COLORS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#00a0a0", "#f032e6", "#9a6324")


def label_corner(
    box: Sequence[float], text: tuple[float, float], image: ImageSize
) -> tuple[float, float]:
    """Where the text of a box begins: at the box's corner, or where it is all in the image."""
    whole_sides = (image.width, image.height)
    x, y = (
        max(0.0, min(at, whole - size))
        for at, size, whole in zip(box[:2], text, whole_sides, strict=True)
    )
    return x, y


def with_boxes(image: Any, boxes: Sequence[Mapping[str, Any]]) -> Any:
    """An image of Pillow, in RGB, with boxes drawn on it.

    Args:
        image: Which is changed.
        boxes: Each with "label", its number; "text"; "box", in pixels. The first is on top.
    """
    from PIL import ImageDraw, ImageFont

    canvas, shown = ImageDraw.Draw(image), ImageSize(image.height, image.width)
    line = max(1, round(min(image.size) / 250))
    font = ImageFont.load_default(size=max(10, round(min(image.size) / 35)))
    for each in reversed(boxes):
        color = _COLORS[each["label"] % len(_COLORS)]
        canvas.rectangle(each["box"], outline=color, width=line)
        _, _, *size = canvas.textbbox((0, 0), each["text"], font=font)
        corner = label_corner(each["box"], (size[0], size[1]), shown)
        canvas.rectangle(canvas.textbbox(corner, each["text"], font=font), fill=color)
        canvas.text(corner, each["text"], fill="white", font=font)
    return image
