"""TensorFlow's errors about records in this package's words."""

import re

import tensorflow as tf

from trainer.errors import DatasetDamagedError, TrainerError

_REMEDY = (
    "declare that key by features={…}, or run `python -m beam_pipeline verify` on a dataset that "
    "was built"
)
# What tf.io.parse_example says of one record and of a batch.
_MISFITS = (
    (r"Feature: (?P<key>.*?) \(data type: \w+\) is required", "is missing"),
    (
        r"Key: (?P<key>.*?)(, Index: \d+)?\.  Data types",
        "holds values of another type than the features say",
    ),
    (
        r"Key: (?P<key>.*?)(, Index: \d+)?\.  ",
        "holds another number of values than the features say",
    ),
)
_ASSERTION = re.compile(r"assertion failed: (?P<parts>\[.*?\])\s*\n", re.DOTALL)


def explained(error: tf.errors.OpError, remedy: str = _REMEDY) -> TrainerError:
    """What `error`, raised while records were read, is about.

    Args:
        error: What a `tf.data.Dataset` raised.
        remedy: What to do about a record that does not fit the features.
    """
    for pattern, problem in _MISFITS:
        if match := re.search(pattern, error.message):
            return DatasetDamagedError(f"in a record, key {match['key']!r} {problem}; {remedy}")
    if match := _ASSERTION.search(error.message):
        return DatasetDamagedError(" ".join(match["parts"][1:-1].split("] [")))
    if isinstance(error, tf.errors.DataLossError):
        return DatasetDamagedError(
            f"a shard is damaged: {error.message}; `python -m beam_pipeline verify` says which"
        )
    return TrainerError(f"TensorFlow failed: {error.message}")
