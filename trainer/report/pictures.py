"""Images of a report, as data URIs."""

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.page import data_uri
from tfrecord_dataset.shown_text import shown
from trainer.tasks import Task
from trainer.tasks.drawing import is_colored, resized, tinted, with_boxes
from trainer.tasks.figures import Overlay

_SIDE = 320  # pixels
_MOST_PIXELS = 8192  # per side of a sheet
_TEXT, _GAP = 14, 8  # pixels
_QUALITY = 75


def opened(encoded: bytes) -> Any:
    """Decode an image of any format to uint8 [height, width, 3]."""
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(encoded)) as file:
        image: Image.Image = file
        if image.mode.startswith("I"):  # 16 bits
            values = np.asarray(image, np.float64)
            image = Image.fromarray((values / max(1.0, values.max()) * 255).astype(np.uint8))
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def of_pixels(pixels: Any) -> Any:
    """Convert the model's input image [height, width, channels] to uint8 with three channels."""
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = ((pixels - low) / max(high - low, 1e-9) * 255).astype(np.uint8)
    return np.repeat(pixels[..., :1], 3, axis=-1) if pixels.shape[-1] < 3 else pixels[..., :3]


def small(pixels: Any, overlay: Overlay | None = None, side: int = _SIDE) -> Any:
    """Make a Pillow image of uint8 [height, width, 3] and an overlay, with longest side `side`."""
    from PIL import Image

    overlay = overlay or Overlay()
    if overlay.classes is not None:
        numbers = resized(overlay.classes, ImageSize(*pixels.shape[:2]))
        pixels = tinted(pixels, numbers, is_colored(numbers, overlay.names))
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((side, side))  # before drawing boxes, to keep their line width
    scale = (image.width, image.height) * 2
    boxes = [
        {**box, "box": [at * by for at, by in zip(box["box"], scale, strict=True)]}
        for box in overlay.boxes
    ]
    return with_boxes(image, boxes)


def picture(pixels: Any, overlay: Overlay | None = None) -> str:
    """Encode `small` as a JPEG in a data URI."""
    output = io.BytesIO()
    small(pixels, overlay).save(output, "JPEG", quality=_QUALITY, optimize=True)
    return data_uri("image/jpeg", output.getvalue())


def of_batch(task: Task, batch: Sequence[Any], most: int) -> list[tuple[Any, str, Overlay]]:
    """Return (pixels, text, overlay) of a batch's first records, as the model sees them.

    The batch is from `training_batches`, of a task with an image.
    """
    (name, *_) = (name for name, each in task.inputs.items() if each is task.images[0])
    inputs, target, *_ = tf.nest.map_structure(lambda values: values[:most].numpy(), tuple(batch))
    show, row_of = task.goal.shown, tf.nest.map_structure
    return [
        (of_pixels(image), *show(row_of(lambda values, row=row: values[row], target)))
        for row, image in enumerate(inputs[name])
    ]


def sheet(records: Sequence[tuple[Any, str, Overlay]]) -> Any:
    """Make a Pillow image of the records of `of_batch`, with their texts below."""
    from PIL import Image, ImageDraw, ImageFont

    columns = math.ceil(math.sqrt(len(records)))
    side = min(_SIDE, _MOST_PIXELS // columns)
    drawn = [small(_enlarged(pixels, side), overlay, side) for pixels, _, overlay in records]
    font = ImageFont.load_default(size=_TEXT)
    width, below = side + _GAP, max(each.height for each in drawn)
    height, rows = below + 2 * _TEXT, -(-len(records) // columns)
    whole = Image.new("RGB", (columns * width, rows * height), "white")
    canvas = ImageDraw.Draw(whole)
    for number, (image, (_, text, _)) in enumerate(zip(drawn, records, strict=True)):
        left, top = number % columns * width, number // columns * height
        whole.paste(image, (left, top))
        text = shown(text)
        while canvas.textlength(text, font=font) > side:
            text = f"{text.removesuffix('…')[:-1]}…"
        canvas.text((left, top + below), text, fill="black", font=font)
    return whole


def _enlarged(pixels: Any, side: int) -> Any:
    """Enlarge small images by a whole factor, so that lines of boxes do not cover them."""
    times = max(1, side // max(pixels.shape[:2]))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)
