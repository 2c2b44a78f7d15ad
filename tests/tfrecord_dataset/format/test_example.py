"""Examples without TensorFlow equal TensorFlow's own; too many keys are refused before parsing."""

import pytest
import tensorflow as tf
from fresh_python import printed
from hypothesis import given
from hypothesis import strategies as st
from inspecting import Inspected, examples_of

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.inspect.stored_example import parse_example
from beam_pipeline.records import FileRef
from tfrecord_dataset.format import inference
from tfrecord_dataset.format.example import (
    MAX_KEYS,
    decode,
    encode,
    encode_columns,
    has_too_many,
    lists,
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


MOST = encode({f"{number}": [number] for number in range(MAX_KEYS)})
ONE_MORE = encode({f"{number}": [number] for number in range(MAX_KEYS + 1)})
NAMELESS = bytes.fromhex("0a00")
# A second Features message, which is merged with the first.
ANOTHER = encode({"x": []})


@pytest.mark.parametrize(
    ("serialized", "expected"),
    [
        pytest.param(MOST, False, id="the most"),
        pytest.param(ONE_MORE, True, id="one more"),
        pytest.param(MOST + ANOTHER, True, id="in two parts"),
        pytest.param(b"\x0a\xff\xff\xff\x7f" + NAMELESS * 20_001, True, id="nameless and cut"),
        pytest.param(b"\x0a\x02" + NAMELESS * 20_001, False, id="other fields"),
        pytest.param(b"\x0a" + b"\xff" * 50_000, False, id="a length without end"),
        pytest.param(bytes(50_000), False, id="zeros"),
        pytest.param(b"", False, id="empty"),
    ],
)
def test_counting(serialized, expected):
    assert has_too_many(serialized) is expected


def test_an_example_of_too_many_keys_is_rejected_by_name():
    assert len(parse_example(MOST)) == MAX_KEYS
    with pytest.raises(RecordError, match=r"too many keys: .*more than the 20,000 keys"):
        parse_example(ONE_MORE)
    with pytest.raises(ValueError, match="more than the 20,000 keys"):
        lists(ONE_MORE)
    with pytest.raises(ValueError, match="more than the 20,000 keys"):
        inference.observe([("a", ONE_MORE)])


def test_examples_that_have_too_many_keys_together_end_the_work():
    file = FileRef(path="a")
    halves = [{f"{half}{n}": n for n in range(MAX_KEYS // 2 + half)} for half in (0, 1)]
    records = [Inspected(key="a", example=file, features=half) for half in halves]
    counted = Statistics()
    counted.observe(examples_of(records[0]), ["train"])
    with pytest.raises(DataError, match="the records together have 20,001 features, such as"):
        counted.observe(examples_of(records[1]), ["train"])
    with pytest.raises(ValueError, match="they have more than the 20,000 keys"):
        inference.observe([(record.key, encode(_lists(record))) for record in records])


def _lists(record):
    return {name: [value] for name, value in record.features.items()}


_PARSE = """
import resource
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.stored_example import parse_example

entries = b"".join(b"\\x0a\\x06\\x0a\\x04" + n.to_bytes(4, "big") for n in range(1_000_000))
length = len(entries)
data = b"\\x0a" + bytes(length >> shift & 127 | 128 * (shift < 28) for shift in range(0, 35, 7))
data += entries
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    parse_example(data)
except RecordError as error:
    print(error.reason, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_millions_of_keys_take_no_memory():
    reason, grown = printed(_PARSE).rsplit(maxsplit=1)
    assert reason == "too many keys"
    assert int(grown) < 20 << 10  # KiB
