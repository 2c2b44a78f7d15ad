"""TensorFlow's errors about records in this package's words."""

import re

import tensorflow as tf

from trainer.errors import DatasetDamagedError, TrainerError
from trainer.parsing.images import DECODING

_REMEDY = (
    "declare that key of bare files by --schema, or run `python -m beam_pipeline verify` on a "
    "dataset that was built"
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
# This package's own checks within the graph, and within Python functions that it calls.
_ASSERTION = re.compile(r"assertion failed: \[(?P<parts>.*?)\]\s*\n", re.DOTALL)
_RAISED = re.compile(r": ValueError: (?P<message>.*?)\nTraceback", re.DOTALL)
# The records of a split are counted where metadata.json states how many there are.
_COUNT = re.compile(r"expected to contain (?P<stated>\d+) elements but contained (?P<found>.*?) el")
# What `parsing.images` calls the operation that decodes a feature.
_PICTURE = re.compile(rf"\{{\{{node (\S*/)?{DECODING}/(?P<name>\S*?)/?DecodeImage(_\d+)?\}}\}}")
_WHERE = re.compile(r"^.*Iterator::[\w:]+: |\{\{.*?\}\} | \[Op:.*$", re.DOTALL)


def explained(error: tf.errors.OpError, remedy: str = _REMEDY) -> TrainerError:
    """What `error`, raised while records were read, is about.

    Args:
        error: What a `tf.data.Dataset` raised.
        remedy: What to do about a record that does not fit the features; by default what the
            commands offer.
    """
    message = error.message
    for pattern, problem in _MISFITS:
        if match := re.search(pattern, message):
            return DatasetDamagedError(f"in a record, key {match['key']!r} {problem}; {remedy}")
    if match := _ASSERTION.search(message):
        return DatasetDamagedError(" ".join(match["parts"].split("] [")))
    if match := _RAISED.search(message):
        return DatasetDamagedError(match["message"])
    if match := _COUNT.search(message):
        return DatasetDamagedError(
            f"{match['stated']} records were to be read, by metadata.json, but the shards hold "
            f"{match['found']}; `python -m beam_pipeline verify` says which have changed"
        )
    told = brief(error)
    if match := _PICTURE.search(message):
        return DatasetDamagedError(
            f"{match['name']!r} of a record is no image that TensorFlow reads: "
            f"{told.removesuffix('.')}; `python -m beam_pipeline build` leaves damaged ones out "
            "and lists them"
        )
    if isinstance(error, tf.errors.DataLossError):
        return DatasetDamagedError(
            f"a shard is damaged: {told}; `python -m beam_pipeline verify` says which"
        )
    return TrainerError(f"TensorFlow failed: {told}")


def brief(error: tf.errors.OpError) -> str:
    """What TensorFlow says, without where in its graph."""
    return _WHERE.sub("", error.message).partition("\n")[0]
