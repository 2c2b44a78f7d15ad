"""Makes the example data from BCCD (github.com/Shenggan/BCCD_Dataset, MIT).

    python examples/make_example_data.py BCCD_DIR examples/data

`blood` is an unchanged part of BCCD: Pascal VOC annotations and image sets. `cells` has one
folder per class: single cells, cropped from the boxes of images that are not in `blood`,
with the same number in each of the three classes.
"""

import argparse
import random
import shutil
from pathlib import Path

import defusedxml.ElementTree
from PIL import Image

PICTURES = {"train": 40, "val": 10, "test": 10}
CELLS_A_CLASS = 240
CELL_SIDE_PX = 48


def main() -> None:
    """Reads the arguments and makes both folders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bccd", type=Path, help="the folder that holds Annotations/")
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    shutil.rmtree(args.output, ignore_errors=True)
    chosen = copy_images(args.bccd, args.output / "blood")
    crop_cells(args.bccd, args.output / "cells", leave_out=chosen)
    shutil.copy(args.bccd.parent / "LICENSE", args.output / "LICENSE-BCCD")


def copy_images(bccd: Path, output: Path) -> set[str]:
    """Copies the first images of each image set; returns their stems."""
    for folder in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (output / folder).mkdir(parents=True)
    chosen: set[str] = set()
    for split, count in PICTURES.items():
        stems = sorted((bccd / "ImageSets/Main" / f"{split}.txt").read_text().split())[:count]
        (output / "ImageSets/Main" / f"{split}.txt").write_text("".join(f"{s}\n" for s in stems))
        for stem in stems:
            shutil.copy(bccd / "JPEGImages" / f"{stem}.jpg", output / "JPEGImages")
            shutil.copy(bccd / "Annotations" / f"{stem}.xml", output / "Annotations")
        chosen.update(stems)
    return chosen


def crop_cells(bccd: Path, output: Path, leave_out: set[str]) -> None:
    """Crops the same number of cells per class from the images not in `leave_out`."""
    boxes: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for path in sorted((bccd / "Annotations").glob("*.xml")):
        if path.stem in leave_out:
            continue
        for found in defusedxml.ElementTree.parse(path).iter("object"):
            sides = tuple(
                int(found.findtext(f"bndbox/{side}")) for side in ("xmin", "ymin", "xmax", "ymax")
            )
            if min(sides[2] - sides[0], sides[3] - sides[1]) >= 20:
                boxes.setdefault(found.findtext("name"), []).append((path.stem, sides))
    for name, of_class in sorted(boxes.items()):
        folder = output / name
        folder.mkdir(parents=True)
        sample = random.Random(0).sample(of_class, min(CELLS_A_CLASS, len(of_class)))
        for number, (stem, sides) in enumerate(sorted(sample)):
            with Image.open(bccd / "JPEGImages" / f"{stem}.jpg") as image:
                cell = image.convert("RGB").crop(square(sides, image.size))
            cell = cell.resize((CELL_SIDE_PX, CELL_SIDE_PX), Image.Resampling.LANCZOS)
            cell.save(folder / f"{stem}_{number:03d}.jpg", quality=88)


def square(sides: tuple[int, ...], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The square around a box, shifted into the image."""
    xmin, ymin, xmax, ymax = sides
    side = min(max(xmax - xmin, ymax - ymin), *size)
    left = min(max((xmin + xmax - side) // 2, 0), size[0] - side)
    top = min(max((ymin + ymax - side) // 2, 0), size[1] - side)
    return left, top, left + side, top + side


if __name__ == "__main__":
    main()
