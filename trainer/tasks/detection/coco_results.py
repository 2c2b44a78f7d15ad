"""Detections as COCO's evaluation reads them."""

from collections.abc import Iterable, Mapping
from typing import Any


def coco_results(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """COCO's results, https://cocodataset.org/#format-results, from rows of predictions.

    A category's id is that of label_map.pbtxt, from 1.
    """
    results = []
    for row in rows:
        for each in row["detections"]:
            xmin, ymin, xmax, ymax = each["box"]
            results.append(
                {
                    "image_id": row["image_id"],
                    "category_id": each["label"] + 1,
                    "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
                    "score": each["score"],
                }
            )
    return results
