"""A table of 50 scalars: `.batches`, which parses whole batches, against one parse per record.

    python benchmarks/parse_scalars.py [--records 50000] [--runs 5] [--batch-size 256]

Makes its data in a temporary folder. The baseline is the chain of tutorials:
`TFRecordDataset(…).map(parse_single_example).batch(…)`, with AUTOTUNE
parallel calls. Prints the medians of alternating runs, and the ratios of consecutive pairs of runs.
CPU seconds cover all threads.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import trainer

NUM_INTEGERS = NUM_FLOATS = 25
NUM_FILES = 4


class Figures(NamedTuple):
    """Figures of one pass over the data.

    Attributes:
        records_per_s: Records per second.
        cpu_s: CPU seconds of all threads.
    """

    records_per_s: float
    cpu_s: float


def main() -> None:
    """Makes the data, reads it both ways alternately and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), args.records)
        contenders: dict[str, Callable[[], tf.data.Dataset]] = {
            "whole batches": lambda: trainer.open(files).batches(batch_size=args.batch_size),
            "record by record": lambda: one_by_one(files, args.batch_size),
        }
        runs: dict[str, list[Figures]] = {name: [] for name in contenders}
        for number in range(args.runs + 1):
            for name, make in contenders.items():
                figures = measure(make(), args.records)
                if number:  # the first pass warms up
                    runs[name].append(figures)
    print(f"{'':18}{'records/s':>10}{'CPU s':>8}   (medians of {args.runs})")
    for name, all_figures in runs.items():
        speed, cpu = (statistics.median(column) for column in zip(*all_figures, strict=True))
        print(f"{name:18}{speed:10,.0f}{cpu:8.2f}")
    pairs = list(zip(runs["whole batches"], runs["record by record"], strict=True))
    faster = sorted(batched.records_per_s / single.records_per_s for batched, single in pairs)
    cheaper = sorted(single.cpu_s / batched.cpu_s for batched, single in pairs)
    print(f"times as fast: {', '.join(f'{ratio:.1f}' for ratio in faster)}")
    print(f"times less CPU: {', '.join(f'{ratio:.1f}' for ratio in cheaper)}")


def write(folder: Path, num_records: int) -> list[str]:
    """Files of records with 25 integers and 25 floats, one value per key."""
    random = np.random.default_rng(0)
    files = [str(folder / f"table-{number}.tfrecord") for number in range(NUM_FILES)]
    for file in files:
        with tf.io.TFRecordWriter(file) as writer:
            for _ in range(num_records // NUM_FILES):
                writer.write(example(random))
    return files


def example(random: np.random.Generator) -> bytes:
    """A serialized Example of one value per key."""
    integers = random.integers(0, 1000, NUM_INTEGERS).tolist()
    floats = random.normal(size=NUM_FLOATS).tolist()
    made = tf.train.Example()
    for number, value in enumerate(integers):
        made.features.feature[f"count_{number:02}"].int64_list.value.append(value)
    for number, value in enumerate(floats):
        made.features.feature[f"size_{number:02}"].float_list.value.append(value)
    return bytes(made.SerializeToString())


def one_by_one(files: list[str], batch_size: int) -> tf.data.Dataset:
    """The same batches, with one parse per record."""
    spec = {
        **{f"count_{n:02}": tf.io.FixedLenFeature([], tf.int64) for n in range(NUM_INTEGERS)},
        **{f"size_{n:02}": tf.io.FixedLenFeature([], tf.float32) for n in range(NUM_FLOATS)},
    }

    def parse(serialized: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(tf.io.parse_single_example(serialized, spec))

    records = tf.data.TFRecordDataset(files, buffer_size=1 << 20)
    parsed = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return parsed.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def measure(batches: tf.data.Dataset, num_records: int) -> Figures:
    """Reads `batches` to their end."""
    wall, cpu = time.monotonic(), time.process_time()
    seen = sum(len(batch["count_00"]) for batch in batches)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    assert seen == num_records // NUM_FILES * NUM_FILES
    return Figures(seen / wall, cpu)


if __name__ == "__main__":
    main()
