"""JSON files item by item: what is found, in however small parts, and what is no JSON."""

import json

import hypothesis
import hypothesis.strategies as st
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.annotations import json_items
from beam_pipeline.sources.annotations.json_items import items, walk

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
    "text",
    ["", "[1,]", '{"a": [1', '{"a" 1}', "[NaN]", "[1] 2", "[" * 9999, f"[{'1' * 5000}]", "[\xff]"],
)
def test_what_is_no_json(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordError, match="malformed annotation: not"):
        list(items(str(path)))


def test_an_item_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(json_items, "MAX_ITEM_CHARACTERS", 1000)
    monkeypatch.setattr(json_items, "_BYTES_AT_ONCE", 100)
    path = tmp_path / "a.json"
    path.write_text(f'["{"x" * 5000}"]')
    with pytest.raises(RecordError, match="over 1,000 characters"):
        list(items(str(path)))
