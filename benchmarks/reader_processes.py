"""Records that one process reads, and that several read together, each its batches.

    python benchmarks/reader_processes.py [--kilobytes 1 20 100] [--processes 1 2 4]
        [--stages read batch] [--runs 3]

Nothing is decoded, so that the reader itself shows, which is Python under one lock (GIL). `read` is
the reader alone, window after window, in so many processes: process k of n reads what every n-th
batch from the k-th on needs. `batch` is `.batches(input_processes=n)` of the same bytes, shuffled,
handed over to one process. Prints, of interleaved runs, the median records per second by the clock,
once all are ready, per CPU second of all processes, and what these have in memory (PSS). The files
are read once before, so that they come from memory.
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
import psutil

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
    titles = ("KB", "stage", "processes", "records/s", "records/CPU s", "MiB")
    print("{:>4} {:>6} {:>9} {:>10} {:>14} {:>7}".format(*titles))
    for kilobytes in args.kilobytes:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, kilobytes << 10)
            for stage in args.stages:
                found: dict[int, list[tuple[float, float, float]]] = {n: [] for n in args.processes}
                for _ in range(args.runs):
                    for count, figures in found.items():
                        figures.append(measure(folder, stage, count))
                for count, figures in found.items():
                    by_clock, by_cpu, mib = (
                        statistics.median(each) for each in zip(*figures, strict=True)
                    )
                    row = f"{kilobytes:4} {stage:>6} {count:9} {by_clock:10,.0f} {by_cpu:14,.0f}"
                    print(f"{row} {mib:7,.0f}", flush=True)


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


def measure(folder: str, stage: str, num_processes: int) -> tuple[float, float, float]:
    """Records per second, per CPU second, and MiB; in new processes, for TensorFlow has threads."""
    context = multiprocessing.get_context("spawn")
    count = num_processes if stage == "read" else 1
    barrier, results = context.Barrier(count), context.SimpleQueue()
    of = count if stage == "read" else num_processes
    processes = [
        context.Process(target=STAGES[stage], args=(folder, part, of, barrier, results))
        for part in range(count)
    ]
    for process in processes:
        process.start()
    counts, begun, ended, cpu_s, mib = zip(*(results.get() for _ in processes), strict=True)
    for process in processes:
        process.join()
    return sum(counts) / (max(ended) - min(begun)), sum(counts) / sum(cpu_s), sum(mib)


def read(folder: str, part: int, parts: int, barrier: Any, results: Any) -> None:
    """Reads one process's part of a pass, window after window."""
    from tfrecord_dataset.random_access import open as open_dataset
    from tfrecord_dataset.records.reader import RecordReader
    from trainer.records.order import Order, Share, window_size

    dataset = open_dataset(folder)
    index = dataset.index("train")
    window = window_size(index.num_records, index.num_bytes)
    order = Order(index.shard_lengths, seed=SEED, window=window)
    share = Share(batch_size=BATCH_SIZE, process=part, num_processes=parts)
    reader = RecordReader(index)

    def sizes() -> Iterator[int]:
        for number in range(order.num_windows):
            position, keys = order.window(0, number)
            own = keys[share.holds(position + np.arange(len(keys)))]
            yield len(reader.read(own[:, 1]))

    take(sizes(), barrier, results)


def batch(folder: str, part: int, parts: int, barrier: Any, results: Any) -> None:
    """Takes one pass of batches that several processes make, once a pass has been made."""
    import trainer

    dataset = trainer.open(folder)
    batches = iter(
        dataset.batches(
            batch_size=BATCH_SIZE, shuffle=True, seed=SEED, repeat=True, input_processes=parts
        )
    )
    in_pass = dataset.num_records() // BATCH_SIZE

    def sizes() -> Iterator[int]:
        for _ in range(in_pass):
            yield int(next(batches)["data"].shape[0])

    sum(sizes())
    take(sizes(), barrier, results)


def take(sizes: Iterator[int], barrier: Any, results: Any) -> None:
    """Takes all, and puts what it took: records, when it began and ended, CPU seconds, MiB."""
    barrier.wait()
    begun, cpu_s = time.monotonic(), cpu_seconds()
    count = sum(sizes)
    results.put((count, begun, time.monotonic(), cpu_seconds() - cpu_s, memory_mib()))


def cpu_seconds() -> float:
    """Of this process and of those that make its batches."""
    return sum(sum(each.cpu_times()[:2]) for each in family())


def memory_mib() -> float:
    """Likewise."""
    return sum(each.memory_full_info().pss for each in family()) / (1 << 20)


def family() -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *own.children()]


STAGES: dict[str, Callable[[str, int, int, Any, Any], None]] = {"read": read, "batch": batch}


if __name__ == "__main__":
    main()
