"""Compares `.batches` with hand-written tf.data chains, in alternating passes.

    python benchmarks/input.py [--case crops …] [--runs 5] [--records 4000]

Makes its data in a temporary folder. Both sides do the same work: the same
shuffling, crops, sizes and batches; theirs with AUTOTUNE parallel calls. Prints for each case the
median records per second and per CPU second (of all threads), the median ratio of consecutive pairs
of readings, each of several passes, and the megabytes of both sides' files. The cases:

    mixed        photographs of many sizes to 224 as float32, shuffled; theirs is not antialiased
    limit        as `mixed`; theirs only decodes: JPEGs in memory, one pixel each
    crops        photographs of 500x375, random resized crops of 224, shuffled
    whole        the same photographs, seen whole at 224, shuffled
    halves       photographs of twice the target size, 448 to 224
    jpeg, bmp    as `whole`; ours on images of 256 on the longer side, stored by
                 `build --image-max-side`, theirs on the originals
    …-crops      as `crops`, likewise
    table        50 scalars, parsed in whole batches, shuffled
    sequences    lists of 5 to 60 numbers, padded, parsed in whole batches, shuffled
    small        3 scalars, from first to last
    cache        photographs at 128: passes with `cache="memory"` after the first, against passes
                 without
    …-untuned    `whole`, `table`, `sequences`, `small`, against the same with tf.data's autotuning
                 off
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
from input_by_hand import (
    PASSES,
    WINDOW,
    by_hand,
    decode_alone,
    parse_sequences,
    parse_small,
    parse_table,
    read_photograph,
    read_plainly,
)
from input_records import encoded_images, photographs, sequences, small, table, write

import trainer
from trainer import Views

PIPELINE = [sys.executable, "-m", "beam_pipeline"]
SEED = 3


class Figures(NamedTuple):
    """Figures of one pass.

    Attributes:
        per_s: Records per second.
        per_cpu_s: Records per CPU second of all threads.
    """

    per_s: float
    per_cpu_s: float


class Case(NamedTuple):
    """One comparison.

    Attributes:
        records: Makes a number of serialized Examples.
        scale: Number of records, relative to `--records`.
        ours: Makes batches from the folder.
        theirs: Makes the same batches from its files, hand-written.
        stored: Options of `build` for our folder; if empty, both sides read the same files.
    """

    records: Callable[[int], Iterator[bytes]]
    scale: int
    ours: Callable[[str], tf.data.Dataset]
    theirs: Callable[[list[str]], tf.data.Dataset]
    stored: tuple[str, ...] = ()


def main() -> None:
    """Makes the data, reads it both ways alternately and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--records", type=int, default=4_000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    titles = ("ours/s", "theirs/s", "ours/CPU s", "theirs/CPU s", "ours MB", "theirs MB", "ratio")
    titles = (*titles, "CPU ratio")
    print(f"{'':10}" + "".join(f"{title:>13}" for title in titles))
    for name in args.case:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            count = args.records * case.scale
            files = write(Path(folder), case.records(count))
            own = prepare(folder, files, case.stored)
            pairs = compare(case.ours(own), case.theirs(files), args.runs)
            megabytes = [sum(map(os.path.getsize, of)) / 1e6 for of in (shards(own), files)]
        columns = [
            statistics.median(getattr(pair[side], field) for pair in pairs)
            for field in Figures._fields
            for side in (0, 1)
        ]
        columns += megabytes
        ratios = [
            statistics.median(
                getattr(ours, field) / getattr(theirs, field) for ours, theirs in pairs
            )
            for field in Figures._fields
        ]
        text = "".join(f"{column:13,.0f}" for column in columns)
        print(f"{name:10}{text}" + "".join(f"{ratio:13.2f}" for ratio in ratios), flush=True)


def prepare(folder: str, files: list[str], stored: tuple[str, ...]) -> str:
    """The folder of our dataset: the files themselves, or one built from their images."""
    if not stored:
        subprocess.run([*PIPELINE, "adopt", folder], check=True, capture_output=True)
        return folder
    images, output = Path(folder, "images"), Path(folder, "built")
    for number, (label, image) in enumerate(encoded_images(files)):
        file = images / str(label) / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image)
    build = [*PIPELINE, "build", str(images), "--output", str(output), "--split", "train=1"]
    done = subprocess.run([*build, *stored], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def shards(folder: str) -> Iterator[Path]:
    """The record files of a dataset."""
    return Path(folder).glob("*tfrecord-*-of-*" if "built" in folder else "train-*")


def compare(
    ours: tf.data.Dataset, theirs: tf.data.Dataset, runs: int
) -> list[tuple[Figures, Figures]]:
    """Pairs of passes, without the first (warm-up)."""
    pairs = []
    for number in range(runs + 1):
        if number % 2:
            first = measure(ours)
            pair = (first, measure(theirs))
        else:
            last = measure(theirs)
            pair = (measure(ours), last)
        pairs.append(pair)
    return pairs[1:]


def measure(batches: tf.data.Dataset) -> Figures:
    """One pass."""
    wall, cpu = time.monotonic(), time.process_time()
    seen = 0
    for batch in batches:
        seen += int(tf.nest.flatten(batch)[0].shape[0])
    return Figures(seen / (time.monotonic() - wall), seen / (time.process_time() - cpu))


def our_images(
    folder: str, size: int, image_dtype: str = "uint8", **options: Any
) -> tf.data.Dataset:
    dataset = trainer.open(folder)
    return dataset.batches(
        batch_size=64,
        image_size=size,
        image_dtype=image_dtype,
        shuffle=True,
        seed=SEED,
        repeat=PASSES,
        **options,
    )


def our_rows(folder: str, batch_size: int, *, shuffle: bool = True) -> tf.data.Dataset:
    return trainer.open(folder).batches(
        batch_size=batch_size,
        shuffle=shuffle,
        seed=SEED,
        shuffle_buffer=WINDOW if shuffle else None,
        repeat=PASSES if shuffle else False,
    )


CROPS = Views(area=(0.25, 1.0), aspect=(3 / 4, 4 / 3), mirror=True)
# A quarter shrinks by 2 and more on both axes, 40 % by 1 to 2, the rest on one axis only.
MIXED = (
    *[(640, 480), (500, 460), (800, 533), (480, 640), (460, 500)],
    *[
        (400, 300),
        (375, 281),
        (300, 400),
        (320, 320),
        (260, 390),
        (440, 330),
        (256, 256),
        (430, 240),
    ],
    *[(330, 200), (300, 180), (200, 330), (320, 213), (210, 280), (350, 190), (280, 157)],
)
SIZED = ("--image-max-side", "256", "--jpeg-quality", "90")
WAYS = {
    "jpeg": SIZED,
    "bmp": (*SIZED, "--image-format", "bmp"),
}


def sized(stored: tuple[str, ...], views: Views | None) -> Case:
    """Images stored at the training size, against the originals."""
    return Case(
        photographs((500, 375)),
        1,
        lambda folder: our_images(folder, 224, views=views),
        lambda files: by_hand(files, read_photograph(224, crop=views is not None), 64),
        stored,
    )


CASES = {
    "mixed": Case(
        photographs(*MIXED),
        1,
        lambda folder: our_images(folder, 224, "float32"),
        lambda files: by_hand(files, read_plainly, 64),
    ),
    "limit": Case(
        photographs(*MIXED),
        1,
        lambda folder: our_images(folder, 224, "float32"),
        decode_alone,
    ),
    "crops": Case(
        photographs((500, 375)),
        1,
        lambda folder: our_images(folder, 224, views=CROPS),
        lambda files: by_hand(files, read_photograph(224, crop=True), 64),
    ),
    "whole": Case(
        photographs((500, 375)),
        1,
        lambda folder: our_images(folder, 224),
        lambda files: by_hand(files, read_photograph(224, crop=False), 64),
    ),
    "halves": Case(
        photographs((448, 448)),
        1,
        lambda folder: our_images(folder, 224),
        lambda files: by_hand(files, read_photograph(224, crop=False), 64),
    ),
    **{
        f"{name}{'-crops' if views else ''}": sized(stored, views)
        for (name, stored), views in itertools.product(WAYS.items(), (None, CROPS))
    },
    "table": Case(
        table,
        20,
        lambda folder: our_rows(folder, 256),
        lambda files: by_hand(files, parse_table, 256, in_batches=True),
    ),
    "sequences": Case(
        sequences,
        50,
        lambda folder: our_rows(folder, 256),
        lambda files: by_hand(files, parse_sequences, 256, in_batches=True),
    ),
    "small": Case(
        small,
        100,
        lambda folder: our_rows(folder, 256, shuffle=False),
        lambda files: by_hand(files, parse_small, 256, shuffle=False, in_batches=True),
    ),
    "cache": Case(
        photographs((500, 375)),
        1,
        lambda folder: our_images(folder, 128, cache="memory"),
        lambda folder: our_images(folder, 128),
    ),
}


def untuned(case: Case) -> Case:
    """A case against itself without autotuning."""
    off = tf.data.Options()
    off.autotune.enabled = False
    return case._replace(
        theirs=lambda files: case.ours(str(Path(files[0]).parent)).with_options(off)
    )


CASES |= {
    f"{name}-untuned": untuned(CASES[name]) for name in ("whole", "table", "sequences", "small")
}

if __name__ == "__main__":
    main()
