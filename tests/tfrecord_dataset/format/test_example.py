"""Examples made without TensorFlow have the same bytes as TensorFlow's."""

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_dataset.errors import RecordError
from tfrecord_dataset.format.example import decode, encode, encode_columns

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


def test_an_empty_list_is_read_as_the_kind_that_is_expected():
    data = encode({"numbers": []})
    parsed = tf.io.parse_single_example(data, {"numbers": tf.io.RaggedFeature(tf.float32)})
    assert parsed["numbers"].shape == (0,)
    assert decode(data) == {"numbers": []}


@pytest.mark.parametrize(
    ("kind", "field"),
    [("bytes", "bytes_list"), ("float32", "float_list"), ("int64", "int64_list")],
)
def test_an_empty_list_states_its_kind_as_tensorflows_does(kind, field):
    expected = tf.train.Example()
    getattr(expected.features.feature["numbers"], field).SetInParent()
    assert encode({"numbers": []}, {"numbers": kind}) == expected.SerializeToString()


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3), min_size=1, max_size=9))
def test_examples_of_columns_are_those_of_their_values(numbers):
    columns = {
        "int": numbers,
        "float": [list(map(float, each)) for each in numbers],
        "bytes": [[b"%d" % number for number in each] for each in numbers],
        "image": [[b"a" * 300]] * len(numbers),
    }
    kinds = {"int": "int64", "bytes": "bytes"}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert encode_columns(columns, kinds) == [encode(row, kinds) for row in rows]


def test_an_int_beyond_64_bits_is_rejected():
    with pytest.raises(RecordError, match="feature big"):
        encode({"big": [2**63]})


def test_what_is_not_an_example_is_named():
    with pytest.raises(ValueError, match=r"not a tf\.train\.Example"):
        decode(b"\x0a\xff\xff\xff\xff\xff")
