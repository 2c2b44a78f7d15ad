"""Masks of objects: COCO's run lengths in the pipeline, PNG files in the dataset.

COCO's own library determines the pixels inside a polygon, so that masks match those of COCO's
evaluation.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from pycocotools import mask as coco_masks

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.frame import MALFORMED, Frame
from beam_pipeline.media.pixels import upright
from beam_pipeline.records import Mask
from tfrecord_dataset.image_size import ImageSize

Pixels = npt.NDArray[np.uint8]

# A number is encoded in groups of five bits, one character per group; the sixth bit means "more".
_ZERO, _MORE, _SIGN = 48, 0x20, 0x10
_MOST_GROUPS = 7
# Decimals of a pixel: restores corners that are stored as fractions of the image.
_DECIMALS = 3
_PNG_HEAD = b"\x89PNG\r\n\x1a\n"


def runs_of(mask: Mask) -> npt.NDArray[np.int64]:
    """Return the run lengths of a mask, as for `mask_of_runs`: pixels outside, inside, …."""
    groups = np.frombuffer(mask.counts, np.uint8).astype(np.int64) - _ZERO
    more = (groups & _MORE) > 0
    starts = np.flatnonzero(np.concatenate([[True], ~more[:-1]])) if groups.size else groups
    lengths = np.diff(starts, append=groups.size)
    if (
        not groups.size
        or groups.min() < 0
        or groups.max() > 2 * _MORE - 1
        or more[-1]
        or lengths.max() > _MOST_GROUPS
    ):
        raise RecordError(MALFORMED, f"run lengths {mask.counts!r:.60} are not COCO's")
    places = np.arange(groups.size) - np.repeat(starts, lengths)
    runs = np.add.reduceat((groups & (_MORE - 1)) << (5 * places), starts)
    ends = starts + lengths - 1
    runs -= np.where(groups[ends] & _SIGN, 1 << (5 * lengths), 0)
    for first in (1, 2):  # from the third run on, differences from two runs before
        runs[first::2] = np.cumsum(runs[first::2])
    height, width = mask.size
    if runs.min() < 0 or runs.sum() != height * width:
        raise RecordError(
            MALFORMED, f"run lengths of {runs.sum():,} pixels for an image of {mask.size}"
        )
    return runs


def pixels_of(mask: Mask) -> Pixels:
    """Decode a mask to uint8 [height, width] of 0 and 1."""
    return _column(runs_of(mask)).reshape(mask.size.width, mask.size.height).T


def _column(runs: npt.NDArray[np.int64]) -> Pixels:
    """Return the pixels of runs in order."""
    return np.repeat((np.arange(runs.size) % 2).astype(np.uint8), runs)


def mask_of(pixels: Pixels, top: int = 0, left: int = 0, size: ImageSize | None = None) -> Mask:
    """Encode uint8 [height, width], in which 0 is outside, as a mask.

    Args:
        pixels: The whole image, or a window at `top` and `left` of an image of this size.
    """
    size = size or ImageSize(*pixels.shape)
    columns, rows = np.nonzero(pixels.T)
    inside = (columns + left) * size.height + rows + top
    breaks = np.flatnonzero(np.diff(inside) != 1)
    edges = np.empty(2 * (len(breaks) + 1 if len(inside) else 0), np.int64)
    if len(inside):
        edges[0::2] = inside[np.concatenate([[0], breaks + 1])]
        edges[1::2] = inside[np.concatenate([breaks, [-1]])] + 1
    runs = np.diff(np.concatenate([[0], edges, [size.height * size.width]])).tolist()
    return mask_of_runs(size, runs if runs[-1] or len(runs) == 1 else runs[:-1])


def mask_of_runs(size: ImageSize, runs: Sequence[int]) -> Mask:
    """Make a mask from plain run lengths, as in COCO's crowds and, by rows, in CVAT.

    Raises:
        RecordError: "malformed annotation": they do not match the size.
    """
    of_32_bits = all(0 <= run < 1 << 32 for run in runs)
    if not of_32_bits or sum(runs) != size.height * size.width:
        raise RecordError(MALFORMED, f"run lengths of {sum(runs):,} pixels for an image of {size}")
    encoded = coco_masks.frPyObjects({"size": list(size), "counts": [*runs]}, *size)
    return Mask(size, encoded["counts"])


def turned(mask: Mask, frame: Frame) -> Mask:
    """Transform a mask from the image's file to the stored image, with nearest neighbours."""
    if frame.orientation == 1 and frame.scale == (1.0, 1.0):
        return mask
    image = upright(Image.fromarray(pixels_of(mask)), frame.orientation)
    if frame.scale != (1.0, 1.0):
        image = image.resize(frame.stored_size[::-1], Image.Resampling.NEAREST)
    return mask_of(np.asarray(image))


def mask_of_polygons(rings: Sequence[Sequence[float]], size: ImageSize) -> Mask:
    """Return the mask of pixels inside rings with corners in 0..1 of the image."""
    if not rings:
        return mask_of_runs(size, [size.height * size.width])
    scale = (size.width, size.height)
    corners = [
        np.round(np.array(ring).reshape(-1, 2) * scale, _DECIMALS).ravel().tolist()
        for ring in rings
    ]
    return Mask(size, coco_masks.merge(coco_masks.frPyObjects(corners, *size))["counts"])


def png_of(mask: Mask) -> bytes:
    """Encode a mask as a PNG file with one channel, 0 or 1.

    Only the window around the object is unpacked: a few hundredths of most large images.
    """
    left, top, width, height = map(int, coco_masks.toBbox(_encoded(mask)))
    begin, end = left * mask.size.height, (left + width) * mask.size.height
    ends: npt.NDArray[np.int64] = np.clip(np.cumsum(runs_of(mask)), begin, end)
    window = _column(np.diff(ends, prepend=begin)).reshape(width, mask.size.height).T
    return _png(window[top : top + height], top, left, mask.size)


def _png(window: Pixels, top: int, left: int, size: ImageSize) -> bytes:
    """Encode a PNG file of zeros except for a window."""
    height, width = size
    compress = zlib.compressobj(6, zlib.DEFLATED, 15, 9, zlib.Z_RLE)  # a fifth of the usual time
    empty = bytes(width + 1)  # each row begins with its filter, 0 for none
    rows = np.zeros((window.shape[0], width + 1), np.uint8)
    rows[:, left + 1 : left + 1 + window.shape[1]] = window
    data = [compress.compress(part) for part in _parts(empty, top)]
    data.append(compress.compress(rows.tobytes()))
    data += (compress.compress(part) for part in _parts(empty, height - top - window.shape[0]))
    data.append(compress.flush())
    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", b"".join(data)), (b"IEND", b""))
    return _PNG_HEAD + b"".join(_chunk(name, content) for name, content in chunks)


def _parts(row: bytes, number: int) -> Sequence[bytes]:
    """Repeat a row `number` times, in parts of up to a megabyte."""
    at_once = max(1, (1 << 20) // len(row))
    whole, rest = divmod(number, at_once)
    return [row * at_once] * whole + [row * rest]


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checksum


def checked(value: Any) -> Mask:
    """Check a source's mask; RecordError if it is malformed."""
    try:
        size, counts = value
        mask = Mask(ImageSize(*map(int, size)), bytes(counts))
    except (TypeError, ValueError) as error:
        raise RecordError(MALFORMED, f"{value!r:.80} is not a Mask") from error
    runs_of(mask)
    return mask


def box_of(mask: Mask) -> tuple[float, float, float, float] | None:
    """Return (x, y, width, height) around the pixels of a mask; None without pixels."""
    x, y, width, height = map(float, coco_masks.toBbox(_encoded(mask)))
    return (x, y, width, height) if width and height else None


def _encoded(mask: Mask) -> dict[str, Any]:
    """Convert a mask to the form of COCO's own library."""
    return {"size": list(mask.size), "counts": mask.counts}
