"""Converts TensorFlow's errors about records to this package's errors."""

import contextlib
import re
from collections.abc import Iterator

import tensorflow as tf

from trainer.errors import ConfigError, DatasetChangedError, DatasetDamagedError, TrainerError
from trainer.parsing.images import DECODING

_REMEDY = (
    "declare that key with --schema for bare files, or run `beam-tfrecords verify` on a "
    "dataset directory"
)
# Messages of this package's own checks, in the graph and in its Python functions.
_ASSERTION = re.compile(r"assertion failed: \[(?P<parts>.*?)\]\s*\n", re.DOTALL)
_RAISED = re.compile(r"\b(ValueError|(?P<name>\w+Error)): (?P<message>.*?)\nTraceback", re.DOTALL)
_CLASSES = {each.__name__: each for each in (TrainerError, ConfigError, DatasetChangedError)}
# The scope that `parsing.images` gives to the operation that decodes a feature.
_DECODED = re.compile(
    rf"\{{\{{node (\S*/)?{DECODING}/(?P<name>\S*?)/?(switch_case\S*/)?"
    r"(DecodeImage|DecodePng|\w+Jpeg\w*?)(_\d+)?\}\}"
)
# The operation that all errors of a `tf.data.Dataset` pass.
_INPUT = "IteratorGetNext"
# Meaning of TensorFlow's errors by their class; its own words follow.
_OF_INPUT = (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError)
_OF_WORKERS = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)
# TensorFlow uses the same type for full memory.
_FULL_DISK = re.compile(r"No space left on device|Disk quota exceeded")
# Prefix of a compiled function's message, before the names of nodes.
_FUNCTION = re.compile(
    r"\AGraph execution error:.*?\n(?=[^\n]*\n\s*\[\[)(\s*\(\d+\) [A-Z_]+:\s*)?", re.DOTALL
)
_WHERE = re.compile(r"^.*Iterator::[\w:]+: |\{\{.*?\}\} | \[Op:.*$", re.DOTALL)


def explain(error: tf.errors.OpError, remedy: str = _REMEDY) -> TrainerError:
    """Return this package's error for an error of a `tf.data.Dataset`.

    The remedy is advice for a record that does not fit the features.
    """
    message, summary = error.message, brief(error).removesuffix(".")
    if match := _ASSERTION.search(message):
        return DatasetDamagedError(" ".join(match["parts"].split("] [")))
    if match := _RAISED.search(message):
        return _CLASSES.get(match["name"], DatasetDamagedError)(match["message"])
    if match := _DECODED.search(message):
        return DatasetDamagedError(
            f"{match['name']!r} of a record is not an image that TensorFlow can read: {summary}; "
            "`beam-tfrecords build` rejects damaged images and lists them"
        )
    if isinstance(error, _OF_INPUT) and _INPUT in message:
        return DatasetDamagedError(f"a record does not fit what is stated: {summary}; {remedy}")
    if isinstance(error, tf.errors.DataLossError):
        return DatasetDamagedError(
            f"a shard is damaged: {summary}; `beam-tfrecords verify` names it"
        )
    if isinstance(error, _OF_WORKERS):
        return TrainerError(
            "a worker of TF_CONFIG has ended or cannot be reached; start the same command on all "
            f"workers again to continue from the last checkpoint: {message}"
        )
    return TrainerError(f"TensorFlow failed: {summary}")


@contextlib.contextmanager
def readable_errors() -> Iterator[None]:
    """Convert TensorFlow's errors while reading or training to this package's errors."""
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        if _FULL_DISK.search(error.message):
            raise TrainerError(
                f"{brief(error)}; free space, and start again (a training with --resume)"
            ) from error
        raise TrainerError(
            f"out of memory: {error.message.splitlines()[0]}; lower --batch-size or --image-size"
        ) from error
    except tf.errors.OpError as error:
        raise explain(error) from error
    except TrainerError as error:
        raised = _without_autograph(error)
        if raised is error:
            raise
        raise raised.with_traceback(None) from None


def _without_autograph(error: TrainerError) -> TrainerError:
    """Return the original of an error whose message AutoGraph extended by its stack."""
    while isinstance(error.__context__, TrainerError) and hasattr(
        error.__context__, "ag_error_metadata"
    ):
        error = error.__context__
    return error


def brief(error: tf.errors.OpError) -> str:
    """Return TensorFlow's message without the position in its graph."""
    message = _FUNCTION.sub("", error.message)
    return _WHERE.sub("", message).partition("\n")[0]
