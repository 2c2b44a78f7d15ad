"""Draws class maps for blood smears from boxes, as an ellipse in each box.

    python examples/blood_maps.py examples/data/blood blood_maps

The input is Pascal VOC data, like `examples/data/blood`. The output has `images/<split>/*.jpg`,
`masks/<split>/*.png` with a class number for each pixel, and `classes.txt`. Cells are round, so
an ellipse covers most of a cell and little else; its outline is marked as ignored.
"""

import argparse
import shutil
from pathlib import Path

import defusedxml.ElementTree
from PIL import Image, ImageDraw

# Drawn in this order, so later classes cover earlier ones.
CLASSES = ("background", "RBC", "WBC", "Platelets")
IGNORED = 255
IGNORED_LINE_PX = 3


def main() -> None:
    """Reads the arguments and makes the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path, help="the folder that holds Annotations/")
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    for split in ("train", "val", "test"):
        images, masks = (args.output / kind / split for kind in ("images", "masks"))
        images.mkdir(parents=True)
        masks.mkdir(parents=True)
        for stem in (args.input / "ImageSets/Main" / f"{split}.txt").read_text().split():
            shutil.copy(args.input / "JPEGImages" / f"{stem}.jpg", images)
            draw_map(args.input / "Annotations" / f"{stem}.xml").save(masks / f"{stem}.png")
    (args.output / "classes.txt").write_text("".join(f"{name}\n" for name in CLASSES))


def draw_map(annotation: Path) -> Image.Image:
    """The map of an image: one channel of class numbers, with ellipses in its boxes."""
    root = defusedxml.ElementTree.parse(annotation).getroot()
    size = tuple(int(root.findtext(f"size/{side}")) for side in ("width", "height"))
    drawn = Image.new("L", size, 0)
    canvas = ImageDraw.Draw(drawn)
    boxes = [
        (
            CLASSES.index(found.findtext("name")),
            [int(found.findtext(f"bndbox/{side}")) for side in ("xmin", "ymin", "xmax", "ymax")],
        )
        for found in root.iter("object")
    ]
    for number, box in sorted(boxes):
        canvas.ellipse(box, fill=number, outline=IGNORED, width=IGNORED_LINE_PX)
    return drawn


if __name__ == "__main__":
    main()
