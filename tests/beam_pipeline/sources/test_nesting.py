"""The depth and the size of what JSON holds are known before it is parsed."""

import io

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources import nesting
from beam_pipeline.sources.nesting import CheckedJson, Nesting, is_deep


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        pytest.param(b"[[1, [2]], {}]", 3, id="lists"),
        pytest.param(b'{"a": {"b": [1]}, "c": []}', 3, id="objects"),
        pytest.param(b'["[[[[", "]]]]", ["{"]]', 2, id="brackets in texts"),
        pytest.param(rb'["\"[[[[", "\\", [1], "\n\\\"[["]', 2, id="escapes"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_depth(text, depth, size):
    nest = Nesting()
    for start in range(0, len(text), size):
        nest.add(text[start : start + size])

    assert (nest.deepest, nest.depth) == (depth, 0)


def test_a_million_brackets_are_too_deep():
    assert is_deep("[" * 1_000_000)
    assert not is_deep("[" + "[1]," * 1_000_000)

    file = CheckedJson(io.BytesIO(b"{" + b'"a":{' * 1_000_000))
    with pytest.raises(RecordError, match="nested over 64 deep"):
        file.read(65_536)


@pytest.mark.parametrize(
    ("text", "is_large"),
    [
        pytest.param(b'{"images": [' + b'{"id": 1, "name": "12345678"},' * 50, False, id="many"),
        pytest.param(b'{"images": [{"a": [' + b"1, " * 500, True, id="a long list"),
        pytest.param(b'{"images": [{"a": "' + b"[" * 500, True, id="a long text"),
        pytest.param(b'{"info": "' + b"a" * 500, True, id="a long text outside"),
    ],
)
def test_items_have_a_size(monkeypatch, text, is_large):
    monkeypatch.setattr(nesting, "MAX_ITEM_BYTES", 200)
    file = CheckedJson(io.BytesIO(text))
    pieces = iter(lambda: file.read(64), b"")
    if is_large:
        with pytest.raises(RecordError, match="items has over 200 bytes"):
            list(pieces)
    else:
        assert b"".join(pieces) == text
