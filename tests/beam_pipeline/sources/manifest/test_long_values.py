"""Long values stay in their rows, and are the same when they are read from there."""

import csv
import io
import json
import pickle

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import ClassLabel, Deferred
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.manifest import feature_columns
from beam_pipeline.sources.manifest.read import ReadCsv
from beam_pipeline.sources.manifest.read_json import ReadJsonl

WORDS = 'long "text", with\nlines; tabs\tand é ' * 9
ROWS = [
    {
        "id": number,
        "label": "cat",
        "note": WORDS + str(number),
        "vector": [number / 7 + each for each in range(90)],
        "grid": [[number, each] for each in range(80)],
        "words": [f"wörd {each}" for each in range(50)],
        "talk": json.dumps([{"said": WORDS, "by": number}], ensure_ascii=False),
        "none": None,
    }
    for number in range(5)
]
LONG = {"note", "vector", "grid", "words", "talk"}


def write_csv(path, rows, delimiter=","):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                name: json.dumps(each) if isinstance(each, list) else each
                for name, each in row.items()
            }
        )
    path.write_bytes(text.getvalue().encode())
    return str(path)


def write_jsonl(path, rows):
    rows = [{**row, "talk": json.loads(row["talk"])} for row in rows]
    path.write_text("\ufeff" + "".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def resolved(record):
    """The record with all values inline, and the names of those that were not."""
    record = pickle.loads(pickle.dumps(record))
    values = {
        name: value.read(storage.read_bytes(value.file)) if isinstance(value, Deferred) else value
        for name, value in record.features.items()
    }
    return values, {name for name, value in record.features.items() if isinstance(value, Deferred)}


@pytest.mark.parametrize(
    ("read", "name", "write"),
    [
        (ReadCsv, "m.csv", write_csv),
        (ReadCsv, "m.tsv", lambda path, rows: write_csv(path, rows, "\t")),
        (ReadJsonl, "m.jsonl", write_jsonl),
    ],
)
@pytest.mark.parametrize("image", ["", "image"])
@pytest.mark.parametrize("range_bytes", [1 << 20, 700])
def test_long_values_are_read_from_their_rows(
    tmp_path, read_manifest, by_name, monkeypatch, read, name, write, image, range_bytes
):
    rows = [{**row, **({image: "a.jpg"} if image else {})} for row in ROWS]
    source = read(write(tmp_path / name, rows))
    monkeypatch.setattr(feature_columns, "LONG_RANGE_BYTES", 1 << 40)
    inline, _ = by_name(read_manifest(source))
    monkeypatch.setattr(feature_columns, "LONG_RANGE_BYTES", 1 << 10)
    small, _ = by_name(read_manifest(source, range_bytes))

    assert inline.keys() == small.keys()
    for key, record in inline.items():
        assert resolved(record) == (record.features, set())
        assert resolved(small[key]) == (record.features, LONG)
        assert len({small[key].features[name].file for name in LONG}) == 1
        assert len(pickle.dumps(small[key])) < 1600 < len(pickle.dumps(record))


@pytest.mark.parametrize("is_json", [False, True])
def test_long_values_that_are_declared(tmp_path, read_manifest, by_name, monkeypatch, is_json):
    schema = parse_schema(
        {
            "note": "text",
            "label": "class_label",
            "vector": {"kind": "tensor", "dtype": "float64", "shape": [90], "encoding": "bytes"},
            "words": {"kind": "class_label", "shape": [None]},
        }
    )
    read, write = (ReadJsonl, write_jsonl) if is_json else (ReadCsv, write_csv)
    source = read(write(tmp_path / "m", ROWS), schema=schema)
    monkeypatch.setattr(feature_columns, "LONG_RANGE_BYTES", 1 << 40)
    inline, _ = by_name(read_manifest(source))
    monkeypatch.setattr(feature_columns, "LONG_RANGE_BYTES", 1 << 10)
    small, _ = by_name(read_manifest(source))

    for key, record in inline.items():
        assert resolved(small[key]) == (record.features, {"note", "vector", "words"})
        assert small[key].features["label"] == ClassLabel("cat")


@pytest.mark.parametrize("is_json", [False, True])
def test_a_row_that_is_another_than_before(tmp_path, read_manifest, monkeypatch, is_json):
    read, write = (ReadJsonl, write_jsonl) if is_json else (ReadCsv, write_csv)
    monkeypatch.setattr(feature_columns, "LONG_RANGE_BYTES", 1 << 10)
    record, *_ = read_manifest(read(write(tmp_path / "m", ROWS)))
    for data in (b"", b"1", b'"1\n', b"[1]"):
        with pytest.raises(RecordError):
            record.features["vector"].read(data)


def test_a_field_longer_than_pythons_own_reader_takes(tmp_path, read_manifest):
    path = tmp_path / "m.csv"
    path.write_text(f'x\n"{list(range(100_000))}"\n')
    (record,) = read_manifest(ReadCsv(str(path)))
    long = record.features["x"]
    assert long.read(storage.read_bytes(long.file)).shape == (100_000,)
