"""A typical hand-written script for a CSV: csv.DictReader, tf.train.Example, TFRecordWriter.

    python benchmarks/hand_written_table.py FILE OUTPUT

It has no shuffle, splits, metadata, checks or resume.
"""

import argparse
import csv
from pathlib import Path

import tensorflow as tf


def main() -> None:
    """Reads the arguments and writes one file of records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    with (
        args.file.open(newline="", encoding="utf-8") as file,
        tf.io.TFRecordWriter(str(args.output / "train.tfrecord")) as writer,
    ):
        for row in csv.DictReader(file):
            features = {name: feature(value) for name, value in row.items()}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def feature(value: str) -> tf.train.Feature:
    """Feature of a cell: an integer, a float, or text."""
    try:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(value)]))
    except ValueError:
        pass
    try:
        return tf.train.Feature(float_list=tf.train.FloatList(value=[float(value)]))
    except ValueError:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))


if __name__ == "__main__":
    main()
