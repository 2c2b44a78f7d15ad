"""What a user declares of a manifest: a schema, and the number that stands for a missing one."""

import math
from pathlib import Path

import pytest

from beam_pipeline.records import Array, ClassLabel, FileRef, Image, Objects, RawFile
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl

SCHEMA = {
    "image": "image",
    "raw": "bytes",
    "age": {"kind": "scalar", "dtype": "int64"},
    "pixels": {"kind": "tensor", "dtype": "uint8", "shape": [2, 2], "encoding": "bytes"},
    "label": {"kind": "class_label", "classes": ["cat", "dog"]},
}


@pytest.mark.parametrize("is_json", [False, True])
def test_what_a_schema_declares_is_read(
    tmp_path, read_manifest, caplog, write, json_lines, records_by_key, rejects, is_json
):
    rows = [
        {"id": "1", "pixels": "1 2 3 4", "label": "dog", "image": "1", "age": "7", "raw": "a.bin"},
        {"id": "2", "pixels": "1 2 3", "label": "dog", "image": "2", "age": "7", "raw": "a.bin"},
        {"id": "3", "pixels": "1 2 3 4", "label": "cow", "image": "3", "age": "7", "raw": "a.bin"},
        {"id": "4", "pixels": "1 2 3 4", "label": "0", "image": "4", "age": "7.5", "raw": "a.bin"},
        {"id": "5", "pixels": "1 2 3 4", "label": "0", "image": "5", "age": "7", "raw": ""},
    ]
    schema = parse_schema(SCHEMA)
    if is_json:
        source = ReadJsonl(write(tmp_path / "m.jsonl", json_lines(*rows)), schema=schema)
    else:
        text = "\n".join(",".join(values) for values in [rows[0], *(row.values() for row in rows)])
        source = ReadCsv(write(tmp_path / "m.csv", text), schema=schema)

    elements = read_manifest(source)

    assert records_by_key(elements)["1"].features == {
        "image": Image(file=FileRef(path=str(tmp_path / "1"))),
        "raw": RawFile(file=FileRef(path=str(tmp_path / "a.bin"))),
        "age": 7,
        "pixels": Array(dtype="uint8", shape=(2, 2), data=bytes([1, 2, 3, 4])),
        "label": ClassLabel("dog"),
    }
    found = rejects(elements)
    assert {reason for reason, _ in found.values()} == {"does not fit the schema"}
    first = 1 if is_json else 2
    name = Path(source.path).name
    assert {source: detail.split(" is ")[0] for source, (_, detail) in found.items()} == {
        f"{name}:{first + 1}": "column 'pixels'",
        f"{name}:{first + 2}": "column 'label'",
        f"{name}:{first + 3}": "column 'age'",
        f"{name}:{first + 4}": "column 'raw'",
    }
    assert "does not declare them: id" in caplog.text


def test_boxes_that_a_schema_declares(
    tmp_path, read_manifest, write, records_by_key, rejects, others
):
    path = write(
        tmp_path / "m.csv",
        "image,xmin,ymin,xmax,ymax,label,hard,area,age\n"
        "1.jpg,1,2,3,4,cat,1,5,7\n1.jpg,5,6,7,8,dog,0,5,7\n"
        "2.jpg,1,2,3,4,cat,1,5,7\n2.jpg,1,2,3,4,cat,1,5,8\n",
    )
    schema = {
        "image": "image",
        "boxes": {"kind": "boxes", "attributes": {"hard": "int64"}},
        "age": {"kind": "scalar", "dtype": "float32"},
    }
    elements = read_manifest(ReadCsv(path, schema=parse_schema(schema)))
    assert others(records_by_key(elements)["1.jpg"]) == {
        "age": 7.0,
        "boxes": Objects(
            boxes=((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)),
            labels=("cat", "dog"),
            attributes={"hard": (1, 0)},
        ),
    }
    assert rejects(elements)["m.csv:4"][1] == "rows of one image differ in the column 'age'"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        pytest.param(ReadCsv, "age,size,name\n30,,a\n,2.5,\n", id="csv"),
        pytest.param(
            ReadJsonl,
            '{"age": 30, "size": null, "name": "a"}\n{"age": null, "size": 2.5, "name": null}\n',
            id="null",
        ),
        pytest.param(ReadJsonl, '{"age": 30, "name": "a"}\n{"size": 2.5}\n', id="not mentioned"),
    ],
)
def test_numbers_that_are_missing_may_be_stored(
    tmp_path, read_manifest, write, records_by_key, rejects, read, text
):
    path = write(tmp_path / "m", text)

    assert len(rejects(read_manifest(read(path)))) == 2
    records = records_by_key(read_manifest(read(path, missing_number=math.nan)))

    first, second = (
        records[f"m:{line}"].features for line in ((2, 3) if read is ReadCsv else (1, 2))
    )
    assert (first["age"], first["name"], second["size"], second["name"]) == (30, "a", 2.5, "")
    assert math.isnan(first["size"])
    assert math.isnan(second["age"])


def test_boxes_without_a_number_beside(tmp_path, read_manifest, write, records_by_key):
    path = write(
        tmp_path / "m.csv",
        "filename,class,xmin,ymin,xmax,ymax,score\na.jpg,x,1,2,3,4,0.5\na.jpg,x,1,2,3,4,\n",
    )

    (record,) = records_by_key(read_manifest(ReadCsv(path, missing_number=-1.0))).values()

    assert record.features["boxes"].attributes == {"score": (0.5, -1.0)}
