"""A TensorFlow Datasets builder for COCO, written like its own `coco` and `lvis`.

python benchmarks/peers/tfds_coco.py FOLDER OUTPUT
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds


class Coco(tfds.core.GeneratorBasedBuilder):
    """Images with boxes, classes and polygons."""

    VERSION = tfds.core.Version("1.0.0")
    folder: Path

    def _info(self) -> tfds.core.DatasetInfo:
        names = [each["name"] for each in _document(self.folder)["categories"]]
        objects = {
            "bbox": tfds.features.BBoxFeature(),
            "label": tfds.features.ClassLabel(names=names),
            "is_crowd": np.bool_,
            "area": np.float32,
            "polygon": tfds.features.Text(),
        }
        features = {"image": tfds.features.Image(), "objects": tfds.features.Sequence(objects)}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager: Any) -> Any:
        return {"train": self._generate_examples(self.folder)}

    def _generate_examples(self, folder: Path) -> Iterator[tuple[int, Any]]:
        document = _document(folder)
        names = {each["id"]: each["name"] for each in document["categories"]}
        objects = defaultdict(list)
        for each in document["annotations"]:
            objects[each["image_id"]].append(each)
        for image in document["images"]:
            width, height = image["width"], image["height"]
            yield (
                image["id"],
                {
                    "image": str(folder / "images" / image["file_name"]),
                    "objects": [
                        {
                            "bbox": _box(each["bbox"], width, height),
                            "label": names[each["category_id"]],
                            "is_crowd": bool(each["iscrowd"]),
                            "area": each["area"],
                            "polygon": json.dumps(each["segmentation"]),
                        }
                        for each in objects[image["id"]]
                    ],
                },
            )


def _document(folder: Path) -> dict[str, Any]:
    with (folder / "annotations" / "instances_train.json").open() as file:
        document: dict[str, Any] = json.load(file)
    return document


def _box(box: list[float], width: int, height: int) -> tfds.features.BBox:
    x, y, across, down = box
    sides = (y / height, x / width, (y + down) / height, (x + across) / width)
    ymin, xmin, ymax, xmax = (min(max(side, 0.0), 1.0) for side in sides)
    return tfds.features.BBox(ymin=ymin, xmin=xmin, ymax=ymax, xmax=xmax)


def main() -> None:
    Coco.folder = Path(sys.argv[1])
    Coco(data_dir=sys.argv[2]).download_and_prepare()


if __name__ == "__main__":
    main()
