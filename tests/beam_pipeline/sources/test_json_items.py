"""JSON files item by item: items from parts of any size, and invalid JSON."""

import json

import hypothesis
import hypothesis.strategies as st
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources import json_items
from beam_pipeline.sources.json_items import JsonSign, is_deep, items, place_of_objects, walk

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@hypothesis.given(
    document=st.dictionaries(st.text(min_size=1), st.lists(VALUES) | VALUES, max_size=4),
    size=st.sampled_from([1, 2, 7, 1 << 20]),
    indent=st.sampled_from([None, 2]),
)
def test_every_item_is_found_once_in_parts_of_any_size(tmp_path_factory, document, size, indent):
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(document, indent=indent), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "_BYTES_AT_ONCE", size)
        found = list(walk(str(path)))
    expected = []
    for name, value in document.items():
        if isinstance(value, list):
            expected += [(name, "", each) for each in value]
        else:
            expected.append(("", name, value))
    assert found == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "not") for text in ("", "[1,]", '{"a": [1', '{"a" 1}', "[NaN]", "[1] 2")),
        *((text, "not") for text in ("[" * 9999, f"[{'1' * 5000}]", "[\xff]")),
        ("[1, " + "[" * 80 + "]" * 80 + "]", "one of its items is nested over 64 deep"),
        (f'["{"x" * 5000}"]', "not JSON, or one of its items has over 1,000 characters"),
    ],
)
def test_what_is_not_json(tmp_path, monkeypatch, text, message):
    monkeypatch.setattr(json_items, "MAX_ITEM_CHARACTERS", 1000)
    monkeypatch.setattr(json_items, "_BYTES_AT_ONCE", 100)
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordError, match=f"malformed annotation: {message}"):
        list(items(str(path)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[" * 64 + "]" * 64, False, id="64 lists"),
        pytest.param("[" * 65 + "]" * 65, True, id="65 lists"),
        pytest.param('{"a":' * 1_000_000, True, id="a million objects"),
        pytest.param("[" + "[1]," * 100_000, False, id="many lists"),
        pytest.param('["' + "[" * 99 + r"\"" + "[" * 99 + '", {}]', False, id="brackets in texts"),
        pytest.param('["' + "[" * 100, False, id="a text that does not end"),
    ],
)
def test_depth(text, expected):
    assert is_deep(text) == expected


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b'[{"a": 1', ""),
        (b"[1, 2]", None),
        (b'{"n": [1], "rows": [ {"a"', "rows"),
        (b'{"n": {"rows": [{}]}}', None),
        (b'{"other": [{}]}', None),
        (b'{"n": "\xc3', None),
        (b"", None),
    ],
)
def test_where_a_list_of_objects_is(start, expected):
    assert place_of_objects(start, {"rows"}) == expected


@pytest.mark.parametrize(
    ("paths", "text", "expected"),
    [
        pytest.param("{images[{", '{"info": {}, "images": [{"id": 1}', True, id="at the top"),
        pytest.param("{images[{", '{"data": {"images": [{"id": 1}]}}', False, id="deeper"),
        pytest.param("{images[{", '[{"images": [{"id": 1}]}]', False, id="in a list"),
        pytest.param("{images[{", '{"text": "\\"images\\": [{", "x": 1}', False, id="in a text"),
        pytest.param("{images[{", '{"images": []}', False, id="of an empty list"),
        pytest.param("{images[]", '{"images": [ ]}', True, id="an empty list"),
        pytest.param("{a[{b", '{"a": [1, [2], {"c": [], "b": 3}]}', True, id="a later item"),
        pytest.param("{*{b[", '{"a": 1, "c": {"b": [', True, id="any name, and a cut end"),
        pytest.param("[{(a|b)", '\ufeff [{"c": 1, "b"', False, id="a name cut off"),
        pytest.param("[{(a|b)", '\ufeff [{"c": 1, "b": 2', True, id="alternatives"),
        pytest.param("{a{b", '{"a{b": 1}', False, id="a name with a bracket"),
        pytest.param("{b", '{"a": 1}\n{"b": 2}', False, id="a later document"),
        pytest.param("{b", "not JSON", False, id="no JSON"),
    ],
)
def test_a_sign_of_json_is_its_structure(paths, text, expected):
    assert JsonSign(paths).search(text.encode()) == expected
