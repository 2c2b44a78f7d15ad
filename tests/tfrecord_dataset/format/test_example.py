"""Examples without TensorFlow are TensorFlow's own, byte for byte."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from beam_pipeline.errors import RecordError
from tfrecord_dataset.format import example
from tfrecord_dataset.format.example import (
    bytes_feature,
    decode,
    encode,
    encode_columns,
    float_feature,
    int64_feature,
    serialize,
)

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


def test_what_is_no_example_is_named():
    with pytest.raises(ValueError, match=r"not a tf\.train\.Example"):
        decode(b"\x0a\xff\xff\xff\xff\xff")


def arrays(dtypes, **elements):
    """NumPy arrays of up to three axes, some of them empty."""
    shapes = st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    return dtypes.flatmap(lambda dtype: st_numpy.arrays(dtype, shapes, **elements))


floats = st.floats(width=32)
ints = st.integers(-(2**63), 2**63 - 1)
whole_numbers = arrays(
    st_numpy.integer_dtypes()
    | st_numpy.unsigned_integer_dtypes(sizes=(8, 16, 32))
    | st_numpy.boolean_dtypes()
)
texts = st.binary(max_size=9) | st.text(max_size=9)

# What a constructor is given, beside tf.train's own list of the same values.
given_bytes = st.one_of(texts, st.lists(texts, max_size=4), st.tuples(texts, texts))
given_floats = st.one_of(
    floats,
    ints,
    floats.map(np.float32),
    st.lists(floats | ints | st.booleans() | floats.map(np.float64), max_size=4),
    arrays(
        st_numpy.floating_dtypes(sizes=(16, 32, 64)),
        elements={"min_value": -60_000, "max_value": 60_000},
    ),
    whole_numbers,
)
given_ints = st.one_of(
    ints,
    st.booleans(),
    st.integers(-128, 127).map(np.int8),
    st.lists(ints | st.booleans() | ints.map(np.int64) | st.booleans().map(np.bool_), max_size=4),
    whole_numbers,
)


def flat(value):
    """The values that `value` holds, by NumPy alone."""
    if isinstance(value, list | tuple):
        return [each.item() if isinstance(each, np.generic) else each for each in value]
    if isinstance(value, bytes | str):
        return [value]
    return np.asarray(value).flatten().tolist()


def tensorflows(kind, value):
    """tf.train.Feature of what a constructor was given."""
    if kind == "bytes":
        encoded = [each.encode() if isinstance(each, str) else each for each in flat(value)]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=encoded))
    if kind == "float":
        return tf.train.Feature(float_list=tf.train.FloatList(value=flat(value)))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=map(int, flat(value))))


CONSTRUCTORS = {"bytes": bytes_feature, "float": float_feature, "int64": int64_feature}
kinds_and_values = st.one_of(
    st.tuples(st.just("bytes"), given_bytes),
    st.tuples(st.just("float"), given_floats),
    st.tuples(st.just("int64"), given_ints),
)


@given(st.dictionaries(st.text(max_size=10), kinds_and_values, max_size=6))
def test_features_equal_tensorflows(values):
    ours = {name: CONSTRUCTORS[kind](value) for name, (kind, value) in values.items()}
    theirs = {name: tensorflows(kind, value) for name, (kind, value) in values.items()}

    whole = tf.train.Example(features=tf.train.Features(feature=theirs))
    assert serialize(ours) == whole.SerializeToString(deterministic=True)
    messages = example.Example(features=example.Features(feature=ours))
    assert messages.SerializeToString(deterministic=True) == serialize(ours)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(np.array([b"a", b"bc"]), [b"a", b"bc"], id="bytes array"),
        pytest.param(np.array([["ä"], ["b"]]), ["ä".encode(), b"b"], id="text array"),
        pytest.param(np.array([b"a\0", "b"], object), [b"a\0", b"b"], id="object array"),
        pytest.param(np.bytes_(b"a\0"), [b"a\0"], id="NumPy bytes"),
        pytest.param([np.bytes_(b"a\0"), np.str_("ä")], [b"a\0", "ä".encode()], id="NumPy texts"),
        pytest.param(bytearray(b"ab"), [b"ab"], id="bytearray"),
        pytest.param(memoryview(b"ab"), [b"ab"], id="memoryview"),
    ],
)
def test_what_holds_bytes(value, expected):
    assert list(bytes_feature(value).bytes_list.value) == expected


def test_tensors_hold_bytes():
    assert list(bytes_feature(tf.constant(b"a\0")).bytes_list.value) == [b"a\0"]
    assert list(bytes_feature(tf.constant([b"a", b"b"])).bytes_list.value) == [b"a", b"b"]


def test_the_last_axis_changes_fastest():
    array = np.arange(6).reshape(2, 3).T
    assert list(int64_feature(array).int64_list.value) == [0, 3, 1, 4, 2, 5]
    assert list(int64_feature(tf.constant([[1, 2], [3, 4]])).int64_list.value) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("make", "kind"),
    [(bytes_feature, "bytes_list"), (float_feature, "float_list"), (int64_feature, "int64_list")],
)
@pytest.mark.parametrize("nothing", [[], (), np.array([])], ids=["list", "tuple", "array"])
def test_an_empty_list_is_of_its_kind(make, kind, nothing):
    assert make(nothing).WhichOneof("kind") == kind


# By the reason: what makes a feature of a value that it cannot hold, and what is told of that.
REFUSED = {
    "unsupported value": [
        (int64_feature, 3.0, "3.0 (float)"),
        (int64_feature, [1, "2"], "'2' (str) at index 1"),
        (int64_feature, np.ones(2), "dtype float64"),
        (int64_feature, None, "None (NoneType)"),
        (int64_feature, [[1], [2]], "[1] (list)"),
        (int64_feature, {1}, "{1} (set)"),
        (int64_feature, np.array(["2024-01-01"], "M8[ns]"), "datetime64"),
        (float_feature, "0.5", "'0.5' (str)"),
        (float_feature, 1j, "1j (complex)"),
        (bytes_feature, 7, "7 (int)"),
        (bytes_feature, np.zeros(2), "dtype float64"),
    ],
    "value out of range": [
        (int64_feature, 2**63, "9223372036854775808"),
        (int64_feature, np.array([2**63], np.uint64), "9223372036854775808"),
        (float_feature, [0.0, 1e39], "1e+39"),
        (float_feature, 10**400, "1000"),
    ],
    "not UTF-8": [(bytes_feature, "\ud800", "ud800")],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_no_feature_holds(reason):
    for make, value, told in REFUSED[reason]:
        with pytest.raises(RecordError) as caught:
            make(value)
        assert caught.value.reason == reason
        assert told in caught.value.detail


def test_what_is_no_feature_is_named():
    with pytest.raises(
        RecordError, match=r"feature 'label' is 3 \(int\); make it with bytes_feature"
    ):
        serialize({"image": bytes_feature(b""), "label": 3})


def test_features_are_read_back():
    data = serialize({"image": bytes_feature(b"\xff"), "label": int64_feature(3)})
    assert decode(data) == {"image": [b"\xff"], "label": [3]}
