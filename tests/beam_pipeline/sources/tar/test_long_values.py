"""Long texts stay in their tar, and have the same value when read from there."""

import pickle

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Deferred
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.tar import parts

TEXT = "wörds and words\n" * 900
MEMBERS = {
    f"{number}.{extension}": content
    for number in range(2)
    for extension, content in {
        "txt": b"\xef\xbb\xbf" + TEXT.encode() * (number + 1),
        "cls": b"1",
        "json": {
            "age": number,
            "caption": TEXT,
            "vector": [each / 7 for each in range(199)],
            "tags": ["ä", TEXT],
            "deep": [{"a": [TEXT]}],
        },
        "list.json": [*range(900)],
    }.items()
}
LONG = {"caption", "vector", "tags", "deep", "list."}
SCHEMA = {
    "txt": "text",
    "caption": "text",
    "vector": {"kind": "sequence", "dtype": "float32", "shape": [None]},
    "tags": {"kind": "class_label", "shape": [None]},
}


@pytest.mark.parametrize("schema", [{}, SCHEMA])
@pytest.mark.parametrize("label_column", ["", "txt"])
def test_long_values_are_read_from_the_tar(read, monkeypatch, schema, label_column):
    options = {"schema": parse_schema(schema) if schema else (), "label_column": label_column}
    monkeypatch.setattr(parts, "LONG_VALUE_BYTES", 1 << 40)
    inline, _ = read({"a.tar": MEMBERS}, **options)
    monkeypatch.setattr(parts, "LONG_VALUE_BYTES", 1 << 10)
    small, _ = read({"a.tar": MEMBERS}, **options)

    assert inline.keys() == small.keys() == {"a.tar/0", "a.tar/1"}
    for key, record in inline.items():
        features = pickle.loads(pickle.dumps(small[key])).features
        deferred = {name for name, feature in features.items() if isinstance(feature, Deferred)}
        assert deferred == ({*SCHEMA} if schema else LONG | {"label" if label_column else "txt"})
        assert not any(isinstance(feature, Deferred) for feature in record.features.values())
        assert record.features == {
            name: feature.read(storage.read_bytes(feature.file)) if name in deferred else feature
            for name, feature in features.items()
        }
        assert len(pickle.dumps(small[key])) < len(pickle.dumps(record)) / 5


def test_a_member_that_is_another_than_before(read, monkeypatch):
    monkeypatch.setattr(parts, "LONG_VALUE_BYTES", 1 << 10)
    records, _ = read({"a.tar": MEMBERS})
    features = records["a.tar/0"].features
    for name, data in (("txt", b"\xff"), ("caption", b"{}"), ("caption", b"{")):
        with pytest.raises(RecordError, match="malformed annotation"):
            features[name].read(data)
