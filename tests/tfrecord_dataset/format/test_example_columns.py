"""Examples parsed together have the values that each has for protobuf."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tfrecord_dataset.format.example import encode, lists
from tfrecord_dataset.format.example_columns import SingleValues

KINDS = {"a": "bytes", "a/b": "int64", "é": "float32"}
ROWS = st.fixed_dictionaries(
    {
        "a": st.binary(max_size=300),
        "a/b": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300),
        "é": st.floats(width=32, allow_nan=False),
    }
)


def check(examples):
    """Compare with protobuf, and return which Examples are parsed."""
    content = b"".join(examples)
    ends = np.cumsum([*map(len, examples)])
    found = SingleValues(content, ends - [*map(len, examples)], ends, KINDS)
    parsed = [lists(each) for each, are in zip(examples, found.are_such, strict=True) if are]
    for key, kind in KINDS.items():
        there = [(kind, [value]) for value in found.of(key)]
        assert repr(there) == repr([(each[key][0], [*each[key][1]]) for each in parsed])
    assert all(each.keys() == KINDS.keys() for each in parsed)
    return found.are_such.tolist()


@hypothesis.settings(deadline=None)
@hypothesis.given(st.lists(ROWS, min_size=1, max_size=20))
def test_values_of_written_examples(rows):
    examples = [encode({key: [value] for key, value in row.items()}) for row in rows]
    assert all(check(examples))


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(st.lists(ROWS, min_size=1, max_size=3), st.data())
def test_changed_bytes(rows, data):
    """Whatever is parsed after a change is what protobuf reads."""
    examples = [encode({key: [value] for key, value in row.items()}) for row in rows]
    changed = bytearray(data.draw(st.sampled_from(examples)))
    at = data.draw(st.integers(0, len(changed) - 1))
    changed[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=12))
    assert all(check([bytes(changed), *examples])[1:])


@pytest.mark.parametrize("last", [0x02, 0x7F, 0x80, 0xFF])
def test_a_number_of_more_than_64_bits_is_left_to_protobuf(last):
    whole = encode({"a": [b""], "a/b": [-1], "é": [0.0]})
    assert whole.count(b"\xff\x01") == 1
    assert check([whole.replace(b"\xff\x01", bytes([0xFF, last])), whole]) == [False, True]


def test_other_examples_are_left_to_protobuf():
    row = {"a": [b"x"], "a/b": [1], "é": [0.5]}
    others = [
        row | {"a/b": [1, 2]},
        row | {"a": []},
        row | {"more": [1]},
        {"a": [b"x"], "a/b": [1]},
        row | {"é": [1]},
        {},
    ]
    assert check([encode(each) for each in (row, *others, row)]) == [
        True, *[False] * len(others), True
    ]  # fmt: skip
