"""`.batches` against the chain of tf.data that people write by hand, in one run, in turn.

    python benchmarks/input.py [--case crops …] [--runs 5] [--records 4000]

Makes its data in a temporary folder. Both sides do the same: the same shuffling of a pass, the
same crops, sizes and batches; theirs with as many parallel calls as TensorFlow likes. Prints for
each case the median records per second and per CPU second (of all threads), and the median of the
ratios of pairs of readings, each of several passes, that followed one another. The cases:

    mixed        photographs of many sizes to 224 as float32, shuffled; theirs is not antialiased
    crops        photographs of 500x375, random resized crops of 224, shuffled
    whole        the same photographs, seen whole at 224, shuffled
    halves       photographs of twice the size at which they are seen, 448 to 224
    table        50 scalars, parsed in whole batches, shuffled
    sequences    lists of 5 to 60 numbers, padded, parsed in whole batches, shuffled
    small        3 scalars, from first to last
    cache        photographs at 128: passes with `cache="memory"` after the first, against passes
                 without
"""

import argparse
import io
import math
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

import numpy as np
import tensorflow as tf
from PIL import Image

import trainer
from trainer import Views

NUM_FILES = 8
ADOPT = [sys.executable, "-m", "beam_pipeline", "adopt"]
WINDOW = 2048
PASSES = 4
SEED = 3
AUTOTUNE = tf.data.AUTOTUNE


class Figures(NamedTuple):
    """What one pass took.

    Attributes:
        per_s: Records a second.
        per_cpu_s: Records a second of all threads.
    """

    per_s: float
    per_cpu_s: float


class Case(NamedTuple):
    """One comparison.

    Attributes:
        records: Its data: a function from a number of records to their Examples.
        scale: Its records, for one photograph of the others.
        ours: From the folder to batches.
        theirs: The same from its files, written by hand.
    """

    records: Callable[[int], Iterator[bytes]]
    scale: int
    ours: Callable[[str], tf.data.Dataset]
    theirs: Callable[[list[str]], tf.data.Dataset]


def main() -> None:
    """Makes the data, reads it both ways in turn, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--records", type=int, default=4_000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    titles = ("ours/s", "theirs/s", "ours/CPU s", "theirs/CPU s", "ratio", "CPU ratio")
    print(f"{'':10}" + "".join(f"{title:>13}" for title in titles))
    for name in args.case:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            count = args.records * case.scale
            files = write(Path(folder), case.records(count))
            subprocess.run([*ADOPT, folder], check=True, capture_output=True)
            pairs = compare(case.ours(folder), case.theirs(files), args.runs)
        columns = [
            statistics.median(getattr(pair[side], field) for pair in pairs)
            for field in Figures._fields
            for side in (0, 1)
        ]
        ratios = [
            statistics.median(
                getattr(ours, field) / getattr(theirs, field) for ours, theirs in pairs
            )
            for field in Figures._fields
        ]
        text = "".join(f"{column:13,.0f}" for column in columns)
        print(f"{name:10}{text}" + "".join(f"{ratio:13.2f}" for ratio in ratios), flush=True)


def compare(
    ours: tf.data.Dataset, theirs: tf.data.Dataset, runs: int
) -> list[tuple[Figures, Figures]]:
    """Pairs of passes; the first of each, which warms up, is left out."""
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


def write(folder: Path, records: Iterator[bytes]) -> list[str]:
    """The records in turn in several files."""
    files = [
        str(folder / f"train-{number:05}-of-{NUM_FILES:05}.tfrecord") for number in range(NUM_FILES)
    ]
    writers = [tf.io.TFRecordWriter(file) for file in files]
    for number, record in enumerate(records):
        writers[number % NUM_FILES].write(record)
    for writer in writers:
        writer.close()
    return files


def example(**columns: Any) -> bytes:
    """A serialized Example; `__` in a name is a slash."""
    made = tf.train.Example()
    for name, value in columns.items():
        feature = made.features.feature[name.replace("__", "/")]
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        elif isinstance(values[0], int):
            feature.int64_list.value.extend(values)
        else:
            feature.float_list.value.extend(values)
    return bytes(made.SerializeToString())


def photographs(*sizes: tuple[int, int]) -> Callable[[int], Iterator[bytes]]:
    """JPEGs with structure at several scales, some 0.3 bytes a pixel as photographs have.

    Args:
        sizes: (width, height), which follow one another.
    """

    def make(count: int) -> Iterator[bytes]:
        random = np.random.default_rng(SEED)
        encoded = [photograph(random, *sizes[n % len(sizes)]) for n in range(min(count, 200))]
        for number in range(count):
            yield example(
                image__encoded=encoded[number % len(encoded)],
                image__class__label=number % 10,
            )

    return make


def photograph(random: np.random.Generator, width: int, height: int) -> bytes:
    """One JPEG: noise at scales of 64, 16, 4 and 1 pixels, of falling strength."""
    pixels = np.full((height, width, 3), 128.0)
    for scale, strength in ((64, 60), (16, 30), (4, 12), (1, 3)):
        size = (math.ceil(width / scale), math.ceil(height / scale))
        noise = random.normal(size=(size[1], size[0], 3)) * 64 + 128
        part = Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8))
        part = part.resize((width, height), Image.Resampling.BICUBIC)
        pixels += (np.asarray(part, np.float64) - 128) * strength / 64
    buffer = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def table(count: int) -> Iterator[bytes]:
    """25 whole numbers and 25 fractions."""
    random = np.random.default_rng(SEED)
    for _ in range(count):
        integers = random.integers(0, 1000, 25).tolist()
        floats = random.normal(size=25).tolist()
        yield example(
            **{f"count_{n:02}": value for n, value in enumerate(integers)},
            **{f"size_{n:02}": value for n, value in enumerate(floats)},
        )


def sequences(count: int) -> Iterator[bytes]:
    """A list of varying length and a label."""
    random = np.random.default_rng(SEED)
    for number in range(count):
        tokens = random.integers(0, 30_000, random.integers(5, 60)).tolist()
        yield example(tokens=tokens, label=number % 5)


def small(count: int) -> Iterator[bytes]:
    """Two fractions and a label."""
    for number in range(count):
        yield example(width=number / 7, height=number / 3, label=number % 5)


def by_hand(
    files: list[str],
    function: Callable[[Any], Any],
    batch_size: int,
    *,
    shuffle: bool = True,
    in_batches: bool = False,
) -> tf.data.Dataset:
    """The usual chain; `function` of a record, or of a batch of them."""
    if shuffle:
        shards = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
        records = shards.interleave(
            lambda file: tf.data.TFRecordDataset(file, buffer_size=1 << 20),
            cycle_length=len(files),
            block_length=16,
            num_parallel_calls=AUTOTUNE,
        )
        records = records.shuffle(WINDOW).repeat(PASSES)
    else:
        records = tf.data.TFRecordDataset(files, buffer_size=1 << 20)
    if in_batches:
        return records.batch(batch_size).map(function, AUTOTUNE).prefetch(AUTOTUNE)
    return records.map(function, AUTOTUNE).batch(batch_size).prefetch(AUTOTUNE)


def read_photograph(size: int, crop: bool) -> Callable[[Any], Any]:
    """Parse, crop while decoding, shrink antialiased, mirror; uint8, as ours."""
    spec = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }

    def read(record: Any) -> Any:
        parsed = tf.io.parse_single_example(record, spec)
        encoded = parsed["image/encoded"]
        if crop:
            shape = tf.image.extract_jpeg_shape(encoded)
            begin, extent, _ = tf.image.sample_distorted_bounding_box(
                shape,
                tf.zeros([1, 0, 4]),
                SEED,
                area_range=(0.25, 1.0),
                use_image_if_no_bounding_boxes=True,
            )
            window = tf.stack([begin[0], begin[1], extent[0], extent[1]])
            image = tf.io.decode_and_crop_jpeg(encoded, window, channels=3)
        else:
            image = tf.io.decode_jpeg(encoded, channels=3)
        image = tf.image.resize(image, [size, size], antialias=True)
        image = tf.cast(tf.round(image), tf.uint8)
        if crop:
            image = tf.image.random_flip_left_right(image)
        return {"image": image, "label": parsed["image/class/label"]}

    return read


def read_plainly(record: Any) -> Any:
    """What tutorials show: bilinear, which leaves out pixels where an image shrinks."""
    parsed = tf.io.parse_single_example(
        record,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.io.decode_jpeg(parsed["image/encoded"], channels=3)
    image = tf.image.resize(image, [224, 224]) / 255.0
    return {"image": image, "label": parsed["image/class/label"]}


def parse_table(batch: Any) -> Any:
    spec = {
        **{f"count_{n:02}": tf.io.FixedLenFeature([], tf.int64) for n in range(25)},
        **{f"size_{n:02}": tf.io.FixedLenFeature([], tf.float32) for n in range(25)},
    }
    return tf.io.parse_example(batch, spec)


def parse_sequences(batch: Any) -> Any:
    spec = {
        "tokens": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    parsed = tf.io.parse_example(batch, spec)
    return {**parsed, "tokens": parsed["tokens"].to_tensor(0)}


def parse_small(batch: Any) -> Any:
    spec = {
        "width": tf.io.FixedLenFeature([], tf.float32),
        "height": tf.io.FixedLenFeature([], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    return tf.io.parse_example(batch, spec)


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
CASES = {
    "mixed": Case(
        photographs(*MIXED),
        1,
        lambda folder: our_images(folder, 224, "float32"),
        lambda files: by_hand(files, read_plainly, 64),
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

if __name__ == "__main__":
    main()
