"""Cost of a resume: the first batch at record 0 and at record 10,000,000 of a dataset.

    python benchmarks/resume.py [--records 10100000] [--shards 20] [--runs 3]

Makes its data, 60 bytes per record, in a temporary folder. Each measurement is a separate process,
from the opened dataset to the first shuffled batch, with the index from .idx files, and counts the
records read until then.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

POSITIONS = (0, 10_000_000)


def main() -> None:
    """Makes the data, measures both positions alternately and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_100_000)
    parser.add_argument("--shards", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure is not None:
        print(*measure(args.folder, args.measure))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), args.records, args.shards)
        times: dict[int, list[float]] = {position: [] for position in POSITIONS}
        counts: dict[int, int] = {}
        for _ in range(args.runs):
            for position in POSITIONS:
                command = [sys.executable, __file__, "--folder", folder, "--measure", str(position)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds, count = done.stdout.split()
                times[position].append(float(seconds))
                counts[position] = max(counts.get(position, 0), int(count))
    for position, seconds in times.items():
        listed = ", ".join(f"{second:.2f}" for second in seconds)
        print(
            f"first batch at record {position:12,}: {statistics.median(seconds):.2f} s ({listed}), "
            f"at most {counts[position]:,} records read"
        )


def write(folder: Path, num_records: int, num_shards: int) -> None:
    """Writes shards of equal records and their indexes."""
    import tensorflow as tf

    example = tf.train.Example()
    example.features.feature["number"].int64_list.value.append(7)
    example.features.feature["text"].bytes_list.value.append(b"16 bytes of text")
    one = folder / "one.tfrecord"
    with tf.io.TFRecordWriter(str(one)) as writer:
        writer.write(example.SerializeToString())
    frame = one.read_bytes()
    one.unlink()
    (folder / "idx").mkdir()
    count = num_records // num_shards
    for shard in range(num_shards):
        name = f"data-{shard:03}.tfrecord"
        (folder / name).write_bytes(frame * count)
        lines = (f"{place * len(frame)} {len(frame)}\n" for place in range(count))
        (folder / "idx" / f"{name}.idx").write_text("".join(lines))


def measure(folder: str, first_record: int) -> tuple[float, int]:
    """Seconds to the first batch, and records read until then."""
    import trainer
    from tfrecord_dataset.records.reader import RecordReader

    counts: list[int] = []
    read = RecordReader.read

    def counted(self: RecordReader, numbers: Any) -> Any:
        counts.append(len(numbers))
        return read(self, numbers)

    RecordReader.read = counted  # type: ignore[method-assign]
    dataset = trainer.open(f"{folder}/*.tfrecord")
    began = time.monotonic()
    options = {"shuffle": True, "seed": 1, "repeat": True, "first_record": first_record}
    next(iter(dataset.batches(batch_size=256, **options)))
    return time.monotonic() - began, sum(counts)


if __name__ == "__main__":
    main()
