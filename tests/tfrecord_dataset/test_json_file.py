"""Untrusted JSON: other types are JsonErrors, and any change of a sealed file is detected."""

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_dataset.json_file import (
    JsonError,
    check_seal,
    parse_object,
    read_object,
    sealed,
    to_text,
    typed,
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b" \n", "it is empty", id="white space"),
        pytest.param(b'{"a": 1', "it is not JSON: Expecting .* column 8", id="cut"),
        pytest.param(b'{"a": 1}{', "it is not JSON: Extra data", id="more behind it"),
        pytest.param(b"\0" * 40, "it is not JSON", id="zeros"),
        pytest.param(b'{"a": "\0"}', "it is not JSON: Invalid control", id="NUL in a text"),
        pytest.param(b'{"a": "\xff"}', "it is not UTF-8: invalid start byte at byte 7", id="UTF-8"),
        pytest.param(b"[1, 2]", "it holds a list of 2, not an object", id="list"),
        pytest.param(b"null", "it holds null, not an object", id="null"),
        pytest.param(b'{"a": 1, "a": 2}', 'it has the name "a" twice', id="a name twice"),
        pytest.param(b"[" * 100_000, "nest deeper than 100", id="nested lists"),
        pytest.param(b'{"a":' * 300 + b"1" + b"}" * 300, "nest deeper", id="nested objects"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "it is not JSON: Exceeds", id="many digits"),
    ],
)
def test_text_that_is_not_a_json_object(data, reason, tmp_path):
    with pytest.raises(JsonError, match=reason):
        parse_object(data)
    file = tmp_path / "a.json"
    file.write_bytes(data)
    with pytest.raises(JsonError, match=reason):
        read_object(file)


def test_what_is_not_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text('{"a": 1}')
    with pytest.raises(JsonError, match="it cannot be read: Is a directory"):
        read_object(tmp_path)
    with pytest.raises(JsonError, match="Not a regular file"):
        read_object(tmp_path / "pipe")
    with pytest.raises(JsonError, match="it has 8 bytes, more than the 7 that are read"):
        read_object(tmp_path / "large", max_bytes=7)
    with pytest.raises(FileNotFoundError):
        read_object(tmp_path / "nothing")


def test_depth_is_bounded_where_python_reads_more():
    assert parse_object('{"a":' * 99 + "{}" + "}" * 99)
    with pytest.raises(JsonError, match="nest deeper"):
        parse_object('{"a":' * 100 + "{}" + "}" * 100)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Point:
    x: int
    y: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
    name: str
    size: tuple[int, int] | None = None
    points: tuple[Point, ...] = ()
    lengths: Mapping[str, int] = dataclasses.field(default_factory=dict)
    closed: bool = False
    more: Any = None


def test_objects_become_dataclasses():
    stated = {"name": "a", "size": [1, 2], "points": [{"x": 1, "y": 2}], "lengths": {"b": 3}}
    assert typed(stated, Shape) == Shape(
        name="a", size=(1, 2), points=(Point(x=1, y=2),), lengths={"b": 3}
    )
    assert typed({"name": "a", "size": None}, Shape) == Shape(name="a")
    assert typed({"a": [{"x": 1}]}, dict[str, list[Point]]) == {"a": [Point(x=1)]}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": 3}, "name is 3, not text"),
        ({"name": None}, "name is null, not text"),
        ({"size": [1]}, "size is a list of 1, not a list of 2"),
        ({"size": [1, 2.5]}, r"size\[1\] is 2.5, not a whole number"),
        ({"size": 3}, "size is 3, not a list of 2 or null"),
        ({"points": {}}, "points is an object of 0, not a list"),
        ({"points": [{"x": 1}, {}]}, r"points\[1\].x is missing"),
        ({"points": [3]}, r"points\[0\] is 3, not an object"),
        ({"points": [{"x": True}]}, r"points\[0\].x is true, not a whole number"),
        ({"points": [{"x": 1, "y": float("inf")}]}, r"y is Infinity, not a number"),
        ({"points": [{"x": 1 << 63}]}, "x is 9223372036854775808, not a whole number"),
        ({"points": [{"x": -(1 << 63) - 1}]}, "x is -9223372036854775809, not a whole number"),
        ({"lengths": {"b": "3"}}, 'lengths.b is "3", not a whole number'),
        ({"closed": 1}, "closed is 1, not true or false"),
        ({"color": 1}, "color is not known"),
        ({"name": ["x" * 99]}, "name is a list of 1, not text"),
        ({"closed": "x" * 99}, 'closed is "x{36}…, not true'),
    ],
)
def test_other_types_are_named_with_their_place(changed, reason):
    with pytest.raises(JsonError, match=reason):
        typed({"name": "a", **changed}, Shape)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)


@given(st.dictionaries(st.sampled_from(list(Shape.__dataclass_fields__)), _JSON))
def test_whatever_is_stated_is_taken_or_named(stated):
    try:
        made = typed(parse_object(json.dumps(stated)), Shape)
    except JsonError:
        return
    assert typed(parse_object(json.dumps(dataclasses.asdict(made))), Shape) == made


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_are_not_written(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text({"mean": [number]})


VALUE = {"name": "Zellen ä", "splits": {"train": [1, 2]}}
SEALED = sealed(VALUE).encode()


def test_the_value_comes_back_with_its_checksum_behind():
    check_seal(SEALED)
    read = json.loads(SEALED)
    assert list(read) == ["name", "splits", "checksum"]
    without = SEALED.replace(read["checksum"].encode(), b"")
    assert read["checksum"] == hashlib.sha256(without).hexdigest()


def test_every_flipped_bit_is_found():
    for bit in range(8 * len(SEALED)):
        changed = bytearray(SEALED)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="checksum"):
            check_seal(bytes(changed))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(SEALED[:-1], id="cut"),
        pytest.param(SEALED + b"\n", id="longer"),
        pytest.param(SEALED[1:], id="without its first byte"),
        pytest.param(json.dumps(json.loads(SEALED)).encode(), id="written otherwise"),
        pytest.param(SEALED[: SEALED.index(b'"splits"')] + SEALED[-81:], id="without a key"),
    ],
)
def test_other_damage_is_found(data):
    with pytest.raises(ValueError, match="checksum"):
        check_seal(data)
