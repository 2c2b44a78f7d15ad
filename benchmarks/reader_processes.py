"""Records that one process reads, and that several read together, each its part of every batch.

    python benchmarks/reader_processes.py [--kilobytes 1 20 100] [--processes 1 2 4]
        [--stages read batch] [--runs 3]

Nothing is decoded, so that the reader itself shows, which is Python under one lock (GIL). `read` is
the reader alone, window after window; `batch` is `.batches` of the same bytes, shuffled. Process k
of n takes every n-th batch from the k-th on. Prints, of interleaved runs, the median records per
second by the clock, from when all are ready until the last has ended, and per CPU second of all.
The files are read once before, so that they come from memory.
"""

import argparse
import multiprocessing
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

import numpy as np

BATCH_SIZE = 64
DATA_BYTES = 128 << 20  # twice a window, so that the next one is read ahead
SEED = 3


def main() -> None:
    """Measures every size and number of processes in turn, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kilobytes", type=int, nargs="+", default=[1, 20, 100])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    print(f"{'KB':>4} {'stage':>6} {'processes':>9} {'records/s':>10} {'records/CPU s':>14}")
    for kilobytes in args.kilobytes:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, kilobytes << 10)
            for stage in args.stages:
                found: dict[int, list[tuple[float, float]]] = {n: [] for n in args.processes}
                for _ in range(args.runs):
                    for count, figures in found.items():
                        figures.append(measure(folder, stage, count))
                for count, figures in found.items():
                    by_clock, by_cpu = (
                        statistics.median(each) for each in zip(*figures, strict=True)
                    )
                    row = f"{kilobytes:4} {stage:>6} {count:9} {by_clock:10,.0f} {by_cpu:14,.0f}"
                    print(row, flush=True)


def write(folder: str, num_bytes: int) -> None:
    """Records of one value of so many random bytes, in eight files."""
    import tensorflow as tf

    random = np.random.default_rng(SEED)
    for number in range(8):
        path = Path(folder, f"train-{number:05}-of-00008.tfrecord")
        with tf.io.TFRecordWriter(str(path)) as writer:
            for _ in range(DATA_BYTES // num_bytes // 8):
                value = tf.train.BytesList(value=[random.bytes(num_bytes)])
                features = tf.train.Features(feature={"data": tf.train.Feature(bytes_list=value)})
                writer.write(tf.train.Example(features=features).SerializeToString())
    command = [sys.executable, "-m", "beam_pipeline", "adopt", folder]
    subprocess.run(command, check=True, capture_output=True)


def measure(folder: str, stage: str, num_processes: int) -> tuple[float, float]:
    """Records a second by the clock, and per CPU second of all processes."""
    context = multiprocessing.get_context("spawn")  # TensorFlow has threads
    barrier, results = context.Barrier(num_processes), context.SimpleQueue()
    processes = [
        context.Process(target=take, args=(folder, stage, part, num_processes, barrier, results))
        for part in range(num_processes)
    ]
    for process in processes:
        process.start()
    counts, begun, ended, cpu_s = zip(*(results.get() for _ in processes), strict=True)
    for process in processes:
        process.join()
    return sum(counts) / (max(ended) - min(begun)), sum(counts) / sum(cpu_s)


def take(folder: str, stage: str, part: int, parts: int, barrier: Any, results: Any) -> None:
    """Takes one pass of a process's batches, once all processes are ready."""
    batches = STAGES[stage](folder, part, parts)
    next(batches)
    barrier.wait()
    begun, cpu_s = time.monotonic(), time.process_time()
    count = sum(batches)
    results.put((count, begun, time.monotonic(), time.process_time() - cpu_s))


def windows(folder: str, part: int, parts: int) -> Iterator[int]:
    """The sizes of windows, each read as it is."""
    from tfrecord_dataset.random_access import open as open_dataset
    from tfrecord_dataset.records.reader import RecordReader
    from trainer.records.order import Order, Share, window_size

    dataset = open_dataset(folder)
    index = dataset.index("train")
    window = window_size(index.num_records, index.num_bytes)
    order = Order(index.shard_lengths, seed=SEED, window=window)
    share = Share(worker=part, num_workers=parts, batch_size=parts * BATCH_SIZE)
    reader = RecordReader(index)
    yield 0
    for number in range(order.num_windows):
        position, keys = order.window(0, number)
        own = keys[share.holds(position + np.arange(len(keys)))]
        yield len(reader.read(own[:, 1]))


def batches(folder: str, part: int, parts: int) -> Iterator[int]:
    """The sizes of batches of bytes."""
    import trainer

    dataset = trainer.open(folder).batches(
        batch_size=parts * BATCH_SIZE, shuffle=True, seed=SEED, worker=part, num_workers=parts
    )
    yield 0
    for batch in dataset:
        yield int(batch["data"].shape[0])


STAGES: dict[str, Callable[[str, int, int], Iterator[int]]] = {"read": windows, "batch": batches}


if __name__ == "__main__":
    main()
