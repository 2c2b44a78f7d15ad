"""Measures where the CPU time of a photograph goes, in `.batches` and in a hand-written chain.

    python benchmarks/photograph.py [--records 1500] [--rounds 3]

Photographs of 473x366 to 224 as float32. Prints the median CPU µs per record up to each stage. By
hand the resize is bilinear, without antialiasing.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
from input_by_hand import AUTOTUNE, read_plainly
from input_records import photographs, write

from trainer import tuner
from trainer.options.command_options import TuneConfig
from trainer.progress import Progress
from trainer.runs.choices import open_input

_BATCH = 64
_SPEC = {"image/encoded": tf.io.FixedLenFeature([], tf.string)}


def main() -> None:
    """Makes the data, reads it both ways alternately and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_500)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), photographs((473, 366))(args.records))
        adopt = [sys.executable, "-m", "beam_pipeline", "adopt", folder]
        subprocess.run(adopt, check=True, capture_output=True)
        sides = {"by hand": dict(by_hand(files)), "ours": dict(ours(folder))}
        for name, stages in sides.items():
            for stage, batches in stages.items():
                cpu = statistics.median(cpu_of(batches) for _ in range(args.rounds))
                print(f"{name:8} up to {stage:8}{cpu * 1e6:8,.0f}", flush=True)


def ours(folder: str) -> Iterator[tuple[str, tf.data.Dataset]]:
    """Yield the stages of `tune`."""
    config = TuneConfig(data=folder, image_size=224, batch_size=_BATCH)
    yield from tuner._stages(open_input(config, Progress(quiet=True)))


def by_hand(files: list[str]) -> Iterator[tuple[str, tf.data.Dataset]]:
    """Yield the stages of the usual chain; all but the last keep one value of a record."""
    shards = tf.data.Dataset.from_tensor_slices(files)
    records = shards.interleave(
        lambda file: tf.data.TFRecordDataset(file, buffer_size=1 << 20),
        cycle_length=len(files),
        block_length=16,
        num_parallel_calls=AUTOTUNE,
    )
    records = records.shuffle(512).repeat()

    def encoded(record: Any) -> Any:
        return tf.io.parse_single_example(record, _SPEC)["image/encoded"]

    stages: dict[str, Callable[[Any], Any]] = {
        "read": tf.strings.length,
        "parse": lambda record: tf.strings.length(encoded(record)),
        "decode": lambda record: tf.io.decode_jpeg(encoded(record), channels=3)[0, 0],
        "resize": lambda record: read_plainly(record)["image"][0, 0],
        "batch": read_plainly,
    }
    for stage, function in stages.items():
        yield stage, records.map(function, AUTOTUNE).batch(_BATCH).prefetch(AUTOTUNE)


def cpu_of(batches: tf.data.Dataset, count: int = 16) -> float:
    """CPU seconds of all threads per record, without the first batches."""
    iterator = iter(batches)
    for _ in range(4):
        next(iterator)
    start = time.process_time()
    for _ in range(count):
        next(iterator)
    return (time.process_time() - start) / count / _BATCH


if __name__ == "__main__":
    main()
