"""A typical hand-written script for COCO: `json.load`, two processes, no Beam.

    python benchmarks/hand_written_coco.py INPUT OUTPUT [--processes 2] [--shards 8] [--masks]

It decodes and hashes every image as `build` does, and writes boxes, classes and polygons; with
--masks it draws a PNG of each object with pycocotools. It has no checks of annotations, rejects,
splits, metadata, resume or second runner.
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import random
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

from hand_written import masked_crc
from PIL import Image
from pycocotools import mask as mask_coding

from tfrecord_dataset.format.example import Example

_Image = tuple[dict[str, Any], list[dict[str, Any]]]


def main() -> None:
    """Reads the arguments and writes the shards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--masks", action="store_true")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    with (args.input / "annotations" / "instances_train.json").open() as file:
        document = json.load(file)
    names = {each["id"]: each["name"] for each in document["categories"]}
    objects = defaultdict(list)
    for each in document["annotations"]:
        objects[each["image_id"]].append(each)
    images = [(each, objects[each["id"]]) for each in document["images"]]
    random.Random(0).shuffle(images)
    jobs = [
        (args.output / f"train-{n:05d}-of-{args.shards:05d}", args.input, part, names, args.masks)
        for n in range(args.shards)
        if (part := images[n :: args.shards])
    ]
    with multiprocessing.Pool(args.processes) as pool:
        written = sum(pool.starmap(write_shard, jobs))
    print(f"{written} records")


def write_shard(
    output: Path, root: Path, images: list[_Image], names: dict[int, str], has_masks: bool
) -> int:
    """Writes images with their objects; returns their number."""
    with output.open("wb") as shard:
        for image, objects in images:
            example = example_of(root, image, objects, names, has_masks)
            length = struct.pack("<Q", len(example))
            shard.write(b"".join((length, masked_crc(length), example, masked_crc(example))))
    return len(images)


def example_of(
    root: Path,
    image: dict[str, Any],
    objects: list[dict[str, Any]],
    names: dict[int, str],
    has_masks: bool,
) -> bytes:
    """One image as an Example."""
    data = (root / "images" / image["file_name"]).read_bytes()
    with Image.open(io.BytesIO(data)) as opened:
        opened.load()
        width, height = opened.size
    message = Example()
    feature = message.features.feature
    feature["image/encoded"].bytes_list.value.append(data)
    feature["image/format"].bytes_list.value.append(b"jpeg")
    feature["image/filename"].bytes_list.value.append(image["file_name"].encode())
    feature["image/source_id"].bytes_list.value.append(str(image["id"]).encode())
    sha256 = hashlib.sha256(data).hexdigest()
    feature["image/key/sha256"].bytes_list.value.append(sha256.encode())
    feature["image/height"].int64_list.value.append(height)
    feature["image/width"].int64_list.value.append(width)
    for each in objects:
        x, y, box_width, box_height = each["bbox"]
        sides = {
            "xmin": x / width,
            "xmax": (x + box_width) / width,
            "ymin": y / height,
            "ymax": (y + box_height) / height,
        }
        for side, value in sides.items():
            feature[f"image/object/bbox/{side}"].float_list.value.append(value)
        name = names[each["category_id"]]
        feature["image/object/class/label"].int64_list.value.append(each["category_id"])
        feature["image/object/class/text"].bytes_list.value.append(name.encode())
        feature["image/object/is_crowd"].int64_list.value.append(each["iscrowd"])
        feature["image/object/area"].float_list.value.append(each["area"])
        if "segmentation" in each:
            rings = [
                [round(value / (height if at % 2 else width), 6) for at, value in enumerate(ring)]
                for ring in each["segmentation"]
            ]
            text = json.dumps(rings, separators=(",", ":"))
            feature["image/object/polygon"].bytes_list.value.append(text.encode())
            if has_masks:
                png = mask_of(each["segmentation"], height, width)
                feature["image/object/mask"].bytes_list.value.append(png)
    encoded: bytes = message.SerializeToString(deterministic=True)
    return encoded


def mask_of(rings: list[list[float]], height: int, width: int) -> bytes:
    """A PNG [height, width] of an object: 1 inside its polygons."""
    runs = mask_coding.merge(mask_coding.frPyObjects(rings, height, width))
    file = io.BytesIO()
    Image.fromarray(mask_coding.decode(runs)).save(file, "PNG")
    return file.getvalue()


if __name__ == "__main__":
    main()
