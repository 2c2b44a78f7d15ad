"""Makes a folder of small JPEGs, in ten class folders, for the benchmarks.

python benchmarks/make_images.py OUTPUT [--count 50000] [--kilobytes 3]
"""

import argparse
import io
from pathlib import Path

import numpy as np
from PIL import Image


def main() -> None:
    """Reads the arguments and writes the images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--kilobytes", type=float, default=3.0, help="about, an image")
    args = parser.parse_args()
    random = np.random.default_rng(0)
    side = side_of(args.kilobytes * 1024, random)
    folders = [args.output / f"class_{number}" for number in range(10)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for number in range(args.count):
        folders[number % 10].joinpath(f"{number:06d}.jpg").write_bytes(image(side, random))
    print(f"{args.count} images of {side}x{side} pixels in {args.output}")


def image(side: int, random: np.random.Generator) -> bytes:
    """A JPEG of smooth noise, unique."""
    coarse = random.integers(0, 255, (max(2, side // 6), max(2, side // 6), 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC).save(
        buffer, "JPEG", quality=90
    )
    return buffer.getvalue()


def side_of(num_bytes: float, random: np.random.Generator) -> int:
    """Side in pixels of an image of about `num_bytes`."""
    side = 32
    while len(image(side, random)) < num_bytes:
        side += 4
    return side


if __name__ == "__main__":
    main()
