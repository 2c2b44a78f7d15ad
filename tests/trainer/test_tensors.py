"""What cannot be learned from fails in the input pipeline, with its feature and value."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.tensors import positive


def in_pipeline(check, values):
    batches = tf.data.Dataset.from_tensors(tf.constant(values)).map(lambda batch: check("x", batch))
    return next(iter(batches)).numpy()


@pytest.mark.parametrize("weights", [[0.0, 1.0, 2.5], [0.0, 0.0]])
def test_weights(weights):
    np.testing.assert_array_equal(in_pipeline(positive, weights), np.array(weights, "float32"))


@pytest.mark.parametrize(
    ("weight", "value_text"), [(-1.0, "-1"), (np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")]
)
def test_not_a_weight(weight, value_text):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"x of a record is not a weight; .*\[{value_text}\]"
    ):
        in_pipeline(positive, [1.0, weight])
