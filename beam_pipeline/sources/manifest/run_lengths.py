"""Masks as Kaggle's competitions have them: "start length start length …", a mask a row."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of, mask_of_runs
from beam_pipeline.records import Mask, Objects
from beam_pipeline.sources.columns.class_values import is_stated
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.boxes import facts_of_rows
from tfrecord_dataset.image_size import ImageSize


def masks_from_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Columns,
    kinds: Mapping[str, Kind | None],
    size: ImageSize,
) -> Objects:
    """The objects of one image from its rows, a mask each; a row without run lengths adds none.

    Args:
        rows: Of the image.
        columns: Which column is which.
        kinds: Of the other columns, which are attributes.
        size: Of the image in its file.

    Raises:
        RecordError: The run lengths are none of this size, or a value is missing.
    """
    assert columns.corners is not None
    [column] = columns.corners
    check_number(len(rows))
    with_mask = [row for row in rows if is_stated(row.get(column))]
    masks = [mask_of_starts(str(row[column]), size) for row in with_mask]
    boxes = [box_of(mask) for mask in masks]
    return dataclasses.replace(
        facts_of_rows(with_mask, columns, kinds),
        boxes=tuple(box for box in boxes if box),
        format="xywh",
        masks=tuple(masks),
        image_size=size,
    )


def mask_of_starts(text: str, size: ImageSize) -> Mask:
    """The mask of "start length start length …": pixels from 1 on, down each column.

    Raises:
        RecordError: "malformed annotation": they overlap, or reach out of the image.
    """
    try:
        numbers = list(map(int, text.split()))
    except ValueError:
        numbers = []
    runs, behind = [], 0
    for start, length in sorted(zip(numbers[::2], numbers[1::2], strict=False)):
        runs += [start - 1 - behind, length]
        behind = start - 1 + length
    pixels = size.height * size.width
    if not numbers or len(numbers) % 2 or min(runs) < 0 or 0 in runs[1::2] or behind > pixels:
        raise malformed(
            f"run lengths {text[:60]!r} are no starts and lengths of pixels that do not overlap, "
            f"in an image of {size}"
        )
    return mask_of_runs(size, [*runs, pixels - behind])
