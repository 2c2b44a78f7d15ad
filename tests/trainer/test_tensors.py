"""Unusable values fail in the input pipeline, with feature and value."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.tensors import positive


def in_pipeline(check, values):
    batches = tf.data.Dataset.from_tensors(tf.constant(values)).map(lambda batch: check("x", batch))
    return next(iter(batches)).numpy()


def test_weights():
    for weights in ([0.0, 1.0, 2.5], [0.0, 0.0]):
        np.testing.assert_array_equal(in_pipeline(positive, weights), np.array(weights, "float32"))
    for weight, text in ((-1.0, "-1"), (np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
        message = rf"x of a record is not a weight; .*\[{text}\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            in_pipeline(positive, [1.0, weight])
