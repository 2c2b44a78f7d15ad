"""`tf.train.Example` without TensorFlow, for any program: the public functions.

data = serialize({"image": bytes_feature(jpeg), "label": int64_feature(3)})
"""

from tfrecord_dataset.example import (
    bytes_feature,
    decode,
    encode,
    float_feature,
    int64_feature,
    serialize,
)

__all__ = ["bytes_feature", "decode", "encode", "float_feature", "int64_feature", "serialize"]
