"""Makes a COCO dataset of small JPEGs: about ten objects per image, each with a polygon.

python benchmarks/make_coco.py OUTPUT [--count 10000] [--corners 24]
"""

import argparse
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
from make_images import image, side_of

_CLASSES = 80


def main() -> None:
    """Reads the arguments, writes `images/` and `annotations/instances_train.json`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--objects", type=float, default=9.6, help="about, an image")
    parser.add_argument("--corners", type=int, default=24, help="of a polygon; 0 for only boxes")
    args = parser.parse_args()
    numbers = np.random.default_rng(0)
    side = side_of(3 * 1024, numbers)
    folder = args.output / "images"
    folder.mkdir(parents=True, exist_ok=True)
    made = random.Random(0)
    images, annotations = [], list[dict[str, Any]]()
    for number in range(1, args.count + 1):
        name = f"{number:012d}.jpg"
        (folder / name).write_bytes(image(side, numbers))
        images.append({"id": number, "file_name": name, "width": side, "height": side})
        for _ in range(round(made.uniform(0.5, 2 * args.objects - 0.5))):
            one = {"id": len(annotations) + 1, "image_id": number}
            annotations.append(one | _object(side, args.corners, made))
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, _CLASSES + 1)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    target = args.output / "annotations" / "instances_train.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(document), "utf-8")
    print(f"{args.count} images with {len(annotations)} objects in {args.output}")


def _object(side: int, corners: int, made: random.Random) -> dict[str, Any]:
    radius = made.uniform(2, side / 3)
    x, y = (made.uniform(radius, side - radius) for _ in range(2))
    turns = [2 * math.pi * corner / max(corners, 1) for corner in range(corners)]
    ring = [
        round(middle + radius * part(turn), 2)
        for turn in turns
        for middle, part in ((x, math.cos), (y, math.sin))
    ]
    return {
        "category_id": made.randint(1, _CLASSES),
        "bbox": [round(each, 2) for each in (x - radius, y - radius, 2 * radius, 2 * radius)],
        "area": round(math.pi * radius**2, 4),
        "iscrowd": 0,
        **({"segmentation": [ring]} if ring else {}),
    }


if __name__ == "__main__":
    main()
