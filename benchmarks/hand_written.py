"""A typical hand-written script: two processes, one writer per shard, no Beam.

    python benchmarks/hand_written.py INPUT OUTPUT [--processes 2] [--shards 8]

It checks every image as `build` does (magic bytes by decoding, a full decode, sha256) and shuffles.
It has no rejects, splits, metadata, resume or second runner.
"""

import argparse
import hashlib
import io
import multiprocessing
import random
import struct
from pathlib import Path

import google_crc32c
from PIL import Image

from tfrecord_dataset.format.example import Example


def main() -> None:
    """Reads the arguments and writes the shards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shards", type=int, default=8)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    paths = sorted(args.input.rglob("*.jpg"))
    random.Random(0).shuffle(paths)
    classes = sorted({path.parent.name for path in paths})
    jobs = [
        (args.output / f"train-{n:05d}-of-{args.shards:05d}", paths[n :: args.shards], classes)
        for n in range(args.shards)
    ]
    with multiprocessing.Pool(args.processes) as pool:
        written = sum(pool.starmap(write_shard, jobs))
    print(f"{written} records")


def write_shard(output: Path, paths: list[Path], classes: list[str]) -> int:
    """Writes the images at `paths`; returns their number."""
    with output.open("wb") as shard:
        for path in paths:
            data = path.read_bytes()
            with Image.open(io.BytesIO(data)) as image:
                image.load()
                width, height = image.size
            name = path.parent.name
            message = Example()
            feature = message.features.feature
            feature["image/encoded"].bytes_list.value.append(data)
            feature["image/format"].bytes_list.value.append(b"jpeg")
            feature["image/filename"].bytes_list.value.append(str(path).encode())
            sha256 = hashlib.sha256(data).hexdigest()
            feature["image/key/sha256"].bytes_list.value.append(sha256.encode())
            feature["image/height"].int64_list.value.append(height)
            feature["image/width"].int64_list.value.append(width)
            feature["image/class/label"].int64_list.value.append(classes.index(name))
            feature["image/class/text"].bytes_list.value.append(name.encode())
            example = message.SerializeToString(deterministic=True)
            length = struct.pack("<Q", len(example))
            shard.write(b"".join((length, masked_crc(length), example, masked_crc(example))))
    return len(paths)


def masked_crc(data: bytes) -> bytes:
    """The masked CRC-32C of a TFRecord frame."""
    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


if __name__ == "__main__":
    main()
