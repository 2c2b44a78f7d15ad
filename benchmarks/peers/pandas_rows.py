"""A CSV read by pandas, its rows written as tf.train.Examples.

python benchmarks/peers/pandas_rows.py FILE OUTPUT
"""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import tensorflow as tf


def feature_maker(column: "pd.Series[Any]") -> Any:
    """Function that makes a feature from a value of a column."""
    train = tf.train
    if column.dtype.kind in "iu":
        return lambda value: train.Feature(int64_list=train.Int64List(value=[value]))
    if column.dtype.kind == "f":
        return lambda value: train.Feature(float_list=train.FloatList(value=[value]))
    return lambda value: train.Feature(bytes_list=train.BytesList(value=[value.encode()]))


def main() -> None:
    table, output = pd.read_csv(sys.argv[1]), Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    makers = {name: feature_maker(table[name]) for name in table}
    with tf.io.TFRecordWriter(str(output / "train.tfrecord")) as writer:
        for row in table.itertuples(index=False, name=None):
            values = zip(makers.items(), row, strict=True)
            features = {name: make(value) for (name, make), value in values}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


if __name__ == "__main__":
    main()
