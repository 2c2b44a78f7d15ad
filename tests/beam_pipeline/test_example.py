"""Examples without TensorFlow are TensorFlow's own, byte for byte."""

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.errors import RecordError
from beam_pipeline.example import decode, encode

values = st.one_of(
    st.lists(st.binary(max_size=20), min_size=1, max_size=5),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
)


def tensorflow_encode(features):
    example = tf.train.Example()
    for key, value in features.items():
        feature = example.features.feature[key]
        kind = {bytes: "bytes_list", float: "float_list", int: "int64_list"}[type(value[0])]
        getattr(feature, kind).value.extend(value)
    return example.SerializeToString(deterministic=True)


@given(st.dictionaries(st.text(max_size=10), values, max_size=6))
def test_bytes_equal_tensorflows(features):
    assert encode(features) == tensorflow_encode(features)


@given(st.dictionaries(st.text(max_size=10), values, max_size=6))
def test_decode_returns_what_was_encoded(features):
    assert decode(encode(features)) == features


def test_the_order_of_keys_does_not_matter():
    assert encode({"a": [1], "b": [2]}) == encode({"b": [2], "a": [1]})


def test_an_empty_list_is_read_as_the_kind_that_is_expected():
    data = encode({"numbers": []})
    parsed = tf.io.parse_single_example(data, {"numbers": tf.io.RaggedFeature(tf.float32)})
    assert parsed["numbers"].shape == (0,)
    assert decode(data) == {"numbers": []}


def test_an_int_beyond_64_bits_is_rejected():
    with pytest.raises(RecordError, match="feature big"):
        encode({"big": [2**63]})


def test_what_is_no_example_is_named():
    with pytest.raises(ValueError, match=r"not a tf\.train\.Example"):
        decode(b"\x0a\xff\xff\xff\xff\xff")
