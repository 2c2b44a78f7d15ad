"""`tf.train.Example` without TensorFlow, for any program: the public functions.

>>> from beam_pipeline.example import bytes_feature, int64_feature, serialize
>>> len(serialize({"image": bytes_feature(b"jpeg"), "label": int64_feature(3)}))
37
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
