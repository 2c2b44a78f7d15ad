"""Whole manifests become records: parts of columns, kinds, splits, and malformed rows."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import (
    Array,
    Audio,
    Boxes,
    ClassLabel,
    ClassLabels,
    FileContent,
    FileRef,
    Image,
    Record,
    Rejected,
)
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


def write(path: Path, text: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def json_lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def records_by_key(elements: list[Any]) -> dict[str, Record]:
    records = [element for element in elements if isinstance(element, Record)]
    assert len({record.key for record in records}) == len(records)
    return {record.key: record for record in records}


def rejects(elements: list[Any]) -> dict[str, tuple[str, str]]:
    found = [element for element in elements if isinstance(element, Rejected)]
    assert all(reject.bad for reject in found)
    return {reject.source: (reject.reason, reject.detail) for reject in found}


def others(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.features.items() if name != "image"}


def test_csv_columns_become_features_of_their_kinds(tmp_path, run_transform):
    path = write(
        tmp_path / "labels.csv",
        "\ufeffFile_Name;Label;split;age;score;plate;note\r\n"
        'a/1.jpg;cat;train;3;1;007;"two\r\nlines; and ""quotes"""\r\n'
        "\r\n"
        "a/2.jpg;dog;val;4;.5;12;\r\n",
    )

    records = records_by_key(run_transform(ReadCsv(path)))

    first, second = records["a/1.jpg"], records["a/2.jpg"]
    assert first.features["image"].file.path == str(tmp_path / "a/1.jpg")
    assert others(first) == {
        "label": ClassLabel("cat"),
        "age": 3,
        "note": 'two\r\nlines; and "quotes"',
        "plate": "007",
        "score": 1.0,
    }
    assert isinstance(others(first)["score"], float)
    assert others(second) == {
        "label": ClassLabel("dog"),
        "age": 4,
        "note": "",
        "plate": "12",
        "score": 0.5,
    }
    assert (first.split, second.split) == ("train", "val")
    assert (first.source, second.source) == ("labels.csv:2", "labels.csv:5")


def test_csv_with_a_box_a_row(tmp_path, run_transform):
    path = write(
        tmp_path / "boxes.csv",
        "filename,width,height,class,xmin,ymin,xmax,ymax,difficult\n"
        "b.jpg,640,480,dog,5,6,7,8.5,0\n"
        "a.jpg,,,,,,,,\n"
        "b.jpg,640,480,cat,1,2,3,4,1\n"
        "c.jpg,10,10,cat,1,2,3,,1\n"
        "d.jpg,10,10,,1,2,3,4,1\n"
        "e.jpg,10,10,cat,1,2,3,4,1\n"
        "e.jpg,20,10,cat,1,2,3,4,1\n",
    )

    elements = run_transform(ReadCsv(path))

    records = records_by_key(elements)
    assert records["b.jpg"].features["boxes"] == Boxes(
        coordinates=((5.0, 6.0, 7.0, 8.5), (1.0, 2.0, 3.0, 4.0)),
        format="xyxy",
        labels=("dog", "cat"),
        attributes={"difficult": (0, 1)},
        image_size=(640, 480),
    )
    assert records["a.jpg"].features["boxes"] == Boxes(
        coordinates=(), labels=(), attributes={"difficult": ()}
    )
    assert {name: set(record.features) for name, record in records.items()} == {
        "a.jpg": {"image", "boxes"},
        "b.jpg": {"image", "boxes"},
    }
    found = rejects(elements)
    assert {source: reason for source, (reason, _) in found.items()} == {
        "boxes.csv:5": "malformed annotation",
        "boxes.csv:6": "missing value",
        "boxes.csv:7": "malformed annotation",
    }
    assert "'c" not in found["boxes.csv:5"][1]
    assert "''" in found["boxes.csv:5"][1]


def test_rows_that_cannot_be_used_are_rejected_by_line(tmp_path, run_transform):
    path = write(
        tmp_path / "labels.tsv",
        b"path\tlabel\tage\n"
        b"1.jpg\tcat\t1\n"
        b"2.jpg\tcat\n"
        b"\tcat\t1\n"
        b"4.jpg\tcat\t\n"
        b"5.jpg\t\t5\n"
        b"6.jpg\tc\xe9\t5\n"
        b'7.jpg\t"unclosed\n',
    )

    elements = run_transform(ReadCsv(path))

    assert list(records_by_key(elements)) == ["1.jpg"]
    found = rejects(elements)
    assert {source: reason for source, (reason, _) in found.items()} == {
        "labels.tsv:3": "malformed annotation",
        "labels.tsv:4": "malformed annotation",
        "labels.tsv:5": "missing value",
        "labels.tsv:6": "missing value",
        "labels.tsv:7": "malformed annotation",
        "labels.tsv:8": "malformed annotation",
    }
    assert found["labels.tsv:3"][1].startswith("2 fields where the header has 3")
    assert "'age'" in found["labels.tsv:5"][1]
    assert found["labels.tsv:7"][1].startswith("not UTF-8")


def test_one_picture_in_several_rows_makes_several_records(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "image,caption\n1.jpg,a\n2.jpg,b\n./1.jpg,c\n1.jpg,d\n")
    records = records_by_key(run_transform(ReadCsv(path)))
    assert {key: record.features["caption"] for key, record in records.items()} == {
        "1.jpg": "a",
        "1.jpg#2": "c",
        "1.jpg#3": "d",
        "2.jpg": "b",
    }


def test_hugging_face_folder_of_splits(tmp_path, run_transform):
    write(tmp_path / "train/metadata.csv", "file_name,label,n\nimg/1.jpg,0,1\n")
    write(tmp_path / "test/metadata.csv", "file_name,label,n\n1.jpg,1,2.5\n")

    records = records_by_key(run_transform(ReadCsv(str(tmp_path))))

    assert {key: (r.split, r.source) for key, r in records.items()} == {
        "train/img/1.jpg": ("train", "train/metadata.csv:2"),
        "test/1.jpg": ("test", "test/metadata.csv:2"),
    }
    # A column's kind is one for all manifests.
    assert others(records["train/img/1.jpg"]) == {"label": ClassLabel("0"), "n": 1.0}


def test_hugging_face_objects(tmp_path, run_transform):
    objects = {
        "bbox": [[1, 2, 3, 4], [5, 6, 7, 8]],
        "category": [0, 3],
        "area": [12, 56.5],
        "iscrowd": [0, 1],
    }
    none = {"bbox": [], "category": [], "area": [], "iscrowd": []}
    path = write(
        tmp_path / "metadata.jsonl",
        json_lines(
            {"file_name": "a.jpg", "width": 64, "height": 48, "ok": True, "objects": objects},
            {"file_name": "b.jpg", "width": 64, "height": 48, "ok": False, "objects": none},
        ),
    )

    records = records_by_key(run_transform(ReadJsonl(str(Path(path).parent))))

    assert others(records["a.jpg"]) == {
        "ok": 1,
        "boxes": Boxes(
            coordinates=((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)),
            format="xywh",
            labels=("0", "3"),
            attributes={"area": (12.0, 56.5), "is_crowd": (0, 1)},
            image_size=(64, 48),
        ),
    }
    assert others(records["b.jpg"])["boxes"].coordinates == ()


def test_jsonl_rows_that_cannot_be_used(tmp_path, run_transform):
    path = write(
        tmp_path / "m.jsonl",
        json_lines({"image": "1.jpg", "label": 3, "n": 1}, {"image": "2.jpg", "label": 3.0})
        + "\n{\n[1]\n"
        + json_lines({"label": 1, "n": 1}, {"image": "7.jpg", "label": None, "n": 1}),
    )
    elements = run_transform(ReadJsonl(path))
    assert others(records_by_key(elements)["1.jpg"]) == {"label": ClassLabel("3"), "n": 1}
    assert {source: reason for source, (reason, _) in rejects(elements).items()} == {
        "m.jsonl:2": "missing value",
        "m.jsonl:4": "malformed annotation",
        "m.jsonl:5": "malformed annotation",
        "m.jsonl:6": "malformed annotation",
        "m.jsonl:7": "missing value",
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param({"x": 1}, r"'v' holds \{'x': 1\}, an object; .*ignore-columns", id="object"),
        pytest.param([{"x": 1}], "is no list of plain values", id="list of objects"),
        pytest.param([["a"]], "is no list of plain values", id="nested texts"),
        pytest.param([1, 2], "'v' holds 3, but lists in other rows", id="list and number"),
    ],
)
def test_unsupported_columns_stop_before_the_job(tmp_path, run_transform, value, message):
    rows = [{"image": "a.jpg", "v": value}, {"image": "b.jpg"}, {"image": "c.jpg", "v": 3}]
    path = write(tmp_path / "early.jsonl", json_lines(*rows))
    with pytest.raises(ConfigError, match=rf"early\.jsonl:[13]: .*{message}"):
        run_transform(ReadJsonl(path))
    assert len(run_transform(ReadJsonl(path, ignore_columns=["v"]))) == 3


def test_lists_beside_the_one_box_of_a_row(tmp_path, run_transform):
    row = {"image": "a.jpg", "x": 1, "y": 2, "w": 3, "h": 4, "outline": [1, 2, 3]}
    path = write(tmp_path / "m.jsonl", json_lines(row))
    with pytest.raises(ConfigError, match=r"'outline' holds lists.*--ignore-columns"):
        run_transform(ReadJsonl(path))


@pytest.mark.parametrize(
    "header", [pytest.param("1.jpg,cat", id="a path"), pytest.param("5.1,3.5,setosa", id="numbers")]
)
def test_a_csv_without_a_header(tmp_path, run_transform, header):
    path = write(tmp_path / "m.csv", f"{header}\n")
    with pytest.raises(ConfigError, match=r"is no column's name: .*--column-names"):
        run_transform(ReadCsv(path))
    names = [*"abc"][: header.count(",") + 1]
    assert len(run_transform(ReadCsv(path, column_names=names))) == 1


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param("39, State, 77516, 13", "each is larger .*--column-names", id="UCI's adult"),
        pytest.param("5,0,0,0", "each is larger .*--column-names", id="MNIST"),
        pytest.param("a,b,a", "'a' twice: rename one, or.*--column-names", id="twice"),
        pytest.param("a\rb\rc", "line ends of LF or CRLF", id="old Macintosh"),
    ],
)
def test_a_header_that_cannot_be_one(tmp_path, run_transform, header, message):
    with pytest.raises(ConfigError, match=message):
        run_transform(ReadCsv(write(tmp_path / "m.csv", f"{header}\n")))


def test_numbers_that_name_columns(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "country,2001,2002\nCuba,1,2\n")
    (record,) = run_transform(ReadCsv(path))
    assert record.features == {"country": "Cuba", "2001": 1, "2002": 2}


@pytest.mark.parametrize(
    ("usual", "late", "reason"),
    [
        pytest.param(None, {}, "unsupported column", id="object"),
        pytest.param(1, [1], "unsupported column", id="list among numbers"),
        pytest.param([1], 1, "unsupported column", id="number among lists"),
        pytest.param([1], [[1], 2], "malformed annotation", id="ragged"),
        pytest.param([1], None, "missing value", id="no list"),
        pytest.param([1], [None], "missing value", id="null in a list"),
        pytest.param([1], [2**64], "value out of range", id="huge"),
        pytest.param([1.5], [1e300], "value out of range", id="too large for float32"),
    ],
)
def test_an_odd_value_rejects_its_row_alone(tmp_path, run_transform, usual, late, reason):
    good = [{"image": f"{number}.jpg", "v": usual} for number in range(120)]
    rows = json_lines(*good, {"image": "odd.jpg", "v": late})
    elements = run_transform(ReadJsonl(write(tmp_path / "late.jsonl", rows)))
    assert len(records_by_key(elements)) == 120
    found = rejects(elements)["late.jsonl:121"]
    assert found[0] == reason
    assert "column 'v'" in found[1]


def test_vertex_rows_without_a_header(tmp_path, run_transform):
    path = write(
        tmp_path / "v.csv",
        "TRAIN,gs://b/a.jpg,cat,0.1,0.2,,,0.3,0.4,,\nUNASSIGNED,/x/b.jpg,cat,.1,.2,,,.3,.4,,\n",
    )
    with pytest.raises(ConfigError, match=r"'gs://b/a\.jpg' is no column's name.*--column-names"):
        run_transform(ReadCsv(write(tmp_path / "h.csv", "TRAIN,gs://b/a.jpg,cat\n")))
    names = ["ml_use", "path", "label", "xmin", "ymin", "", "", "xmax", "ymax", "", ""]

    records = records_by_key(
        run_transform(ReadCsv(path, column_names=names, box_format="rel_xyxy"))
    )

    record = records["gs://b/a.jpg"]
    assert record.split == "train"
    assert record.features["image"].file.path == "gs://b/a.jpg"
    assert record.features["boxes"] == Boxes(
        coordinates=((0.1, 0.2, 0.3, 0.4),), format="rel_xyxy", labels=("cat",)
    )
    assert records["/x/b.jpg"].split is None


def test_image_root_and_named_columns(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "picture, kind, part\nx/1.jpg, cat, a\n")
    source = ReadCsv(
        path,
        image_root=str(tmp_path / "pictures"),
        image_column="picture",
        label_column="kind",
        split_column="part",
    )
    (record,) = run_transform(source)
    assert (record.key, record.split, others(record)) == (
        "x/1.jpg",
        "a",
        {"label": ClassLabel("cat")},
    )
    assert record.features["image"].file.path == str(tmp_path / "pictures/x/1.jpg")


def test_a_compressed_manifest(tmp_path, run_transform):
    path = write(tmp_path / "m.csv.gz", gzip.compress(b"image,label\n1.jpg,a\n2.jpg,b\n"))
    assert sorted(records_by_key(run_transform(ReadCsv(path)))) == ["1.jpg", "2.jpg"]


def test_a_table_goes_by_its_lines(tmp_path, run_transform):
    path = write(
        tmp_path / "t.csv", 'x,y,note,x y,ß\r\n1,2,"a\r\nb",3,4\r\n\r\n5,6.5,,7,8\r\n1,x,,7,8,9\r\n'
    )
    elements = run_transform(ReadCsv(path))
    records = records_by_key(elements)
    assert {key: (record.source, dict(record.features)) for key, record in records.items()} == {
        "t.csv:2": ("t.csv:2", {"x": 1, "y": 2.0, "note": "a\r\nb", "x y": 3, "ß": 4}),
        "t.csv:5": ("t.csv:5", {"x": 5, "y": 6.5, "note": "", "x y": 7, "ß": 8}),
    }
    assert list(rejects(elements)) == ["t.csv:6"]


def test_a_table_without_rows(tmp_path, run_transform):
    assert run_transform(ReadCsv(write(tmp_path / "t.csv", "x,y\n"))) == []


def test_sounds_of_hugging_face(tmp_path, run_transform):
    path = write(tmp_path / "train/metadata.csv", "file_name,text\na/1.wav,one\na/2.mp3,two\n")
    records = records_by_key(run_transform(ReadCsv(str(Path(path).parents[1]))))
    assert {key: dict(record.features) for key, record in records.items()} == {
        f"train/a/{name}": {
            "audio": Audio(file=FileRef(path=str(tmp_path / "train/a" / name))),
            "text": text,
        }
        for name, text in (("1.wav", "one"), ("2.mp3", "two"))
    }


def test_several_columns_of_one_kind(tmp_path, run_transform):
    for name in ("1.png", "mask/1.png", "left/1.npy"):
        write(tmp_path / name, "")
    remote, away = "gs://b/1.png", str(tmp_path / "mask/1.png")
    path = write(
        tmp_path / "m.jsonl",
        json_lines(
            {"image": "1.png", "mask": away, "left": "left/1.npy", "color": "red", "tags": ["a"]},
            {"image": remote, "mask": "../2.png", "left": "left/2.npy", "color": 3, "tags": []},
        ),
    )

    elements = run_transform(ReadJsonl(path, label_column="color,tags"))

    first, second = records_by_key(elements)["1.png"], records_by_key(elements)[remote]
    assert first.features == {
        "image": Image(file=FileRef(path=str(tmp_path / "1.png"))),
        "mask": Image(file=FileRef(path=away)),
        "left": Array(file=FileRef(path=str(tmp_path / "left/1.npy"))),
        "color": ClassLabel("red"),
        "tags": ClassLabels(("a",)),
    }
    assert second.features["image"].file.path == remote
    assert second.features["mask"].file.path == str(tmp_path.parent / "2.png")
    assert second.features["tags"] == ClassLabels(())


def test_several_classes_in_a_csv(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", 'x,label\n1,"[""a"", 3]"\n2,[]\n3,\n')
    elements = run_transform(ReadCsv(path))
    assert [record.features["label"] for record in records_by_key(elements).values()] == [
        ClassLabels(("a", "3")),
        ClassLabels(()),
    ]
    assert rejects(elements)["m.csv:4"][0] == "missing value"


def test_a_label_with_fractions_is_a_number_to_predict(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "x,target\n1,2\n2,2.5\n")
    records = records_by_key(run_transform(ReadCsv(path)))
    assert [record.features["target"] for record in records.values()] == [2.0, 2.5]
    records = records_by_key(run_transform(ReadCsv(path, label_column="target")))
    assert [record.features["label"].name for record in records.values()] == ["2", "2.5"]


def test_numbers_of_classes_have_no_fraction(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "x,label\n1,1.0\n2,0\n3,\n")
    elements = run_transform(ReadCsv(path))
    assert [record.features["label"] for record in records_by_key(elements).values()] == [
        ClassLabel("1"),
        ClassLabel("0"),
    ]
    assert rejects(elements)["m.csv:4"][0] == "missing value"


def test_numbers_of_classes_that_have_names(tmp_path, run_transform):
    table = write(tmp_path / "m.csv", "x,label\n1,1.0\n2,0\n3,cat\n")
    records = records_by_key(run_transform(ReadCsv(table, classes=("cat", "dog"))))
    assert [record.features["label"].name for record in records.values()] == ["1.0", "cat", "cat"]
    rows = json_lines(
        {"image": "1.jpg", "labels": [1, 0]},
        {"image": "2.jpg", "objects": {"bbox": [[0, 0, 1, 1]], "categories": [1]}},
    )
    for row, feature, names in zip(
        rows.splitlines(), ("label", "boxes"), [("dog", "cat"), ("dog",)], strict=True
    ):
        path = write(tmp_path / "m.jsonl", row)
        (record,) = run_transform(ReadJsonl(path, classes=("cat", "dog")))
        value = record.features[feature]
        assert (value.names if feature == "label" else value.labels) == names


@pytest.mark.parametrize("schema", [{}, {"label": "class_label", "x": "text"}])
@pytest.mark.parametrize("test", ["x\n2\n", "x,label\n2,\n"])
def test_a_split_without_labels(tmp_path, run_transform, caplog, test, schema):
    write(tmp_path / "train.csv", "x,label\n1,cat\n")
    write(tmp_path / "test.csv", test)
    records = records_by_key(
        run_transform(ReadCsv(str(tmp_path), schema=schema and parse_schema(schema)))
    )
    assert records["train.csv:2"].features["label"] == ClassLabel("cat")
    assert records["test.csv:2"].features.keys() == {"x"}
    assert "may lack them: test.csv" in caplog.text


def test_lists_as_numbers_with_spaces(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "emotion,tokens,label\n0,70 80 82,16 0\n1,9,3\n")
    records = records_by_key(run_transform(ReadCsv(path)))
    tokens = [record.features["tokens"] for record in records.values()]
    assert [np.frombuffer(each.data, "<i8").tolist() for each in tokens] == [[70, 80, 82], [9]]
    labels = [record.features["label"].names for record in records.values()]
    assert labels == [("16", "0"), ("3",)]


def test_a_split_whose_labels_come_late(tmp_path, run_transform):
    write(tmp_path / "train.csv", "x,label\n1,cat\n")
    write(tmp_path / "test.csv", "x,label\n" + "2,\n" * 100 + "3,dog\n")
    records = records_by_key(run_transform(ReadCsv(str(tmp_path))))
    assert records["test.csv:101"].features.keys() == {"x"}
    assert records["test.csv:102"].features["label"] == ClassLabel("dog")


def test_pictures_that_are_not_there_are_told(tmp_path, run_transform, caplog):
    path = write(tmp_path / "m.csv", "image_id,x\n1.jpg,2\n")
    (record,) = run_transform(ReadCsv(path))
    assert record.features["image_id"] == "1.jpg"
    assert "(see --image-root): image_id" in caplog.text


def test_a_long_field(tmp_path, run_transform):
    numbers = list(range(100_000))
    (record,) = run_transform(ReadCsv(write(tmp_path / "m.csv", f'x\n"{numbers}"\n')))
    assert record.features["x"].shape == (100_000,)


SCHEMA = {
    "image": "image",
    "raw": "bytes",
    "age": {"kind": "scalar", "dtype": "int64"},
    "pixels": {"kind": "tensor", "dtype": "uint8", "shape": [2, 2], "encoding": "bytes"},
    "label": {"kind": "class_label", "classes": ["cat", "dog"]},
}


@pytest.mark.parametrize("is_json", [False, True])
def test_what_a_schema_declares_is_read(tmp_path, run_transform, caplog, is_json):
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

    elements = run_transform(source)

    assert records_by_key(elements)["1"].features == {
        "image": Image(file=FileRef(path=str(tmp_path / "1"))),
        "raw": FileContent(file=FileRef(path=str(tmp_path / "a.bin"))),
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


def test_boxes_that_a_schema_declares(tmp_path, run_transform):
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
    elements = run_transform(ReadCsv(path, schema=parse_schema(schema)))
    assert others(records_by_key(elements)["1.jpg"]) == {
        "age": 7.0,
        "boxes": Boxes(
            coordinates=((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)),
            labels=("cat", "dog"),
            attributes={"hard": (1, 0)},
        ),
    }
    assert rejects(elements)["m.csv:4"][1] == "rows of one picture differ in the column 'age'"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        pytest.param(ReadCsv, "age,size,name\n30,,a\n,2.5,\n", id="csv"),
        pytest.param(
            ReadJsonl,
            json_lines(
                {"age": 30, "size": None, "name": "a"}, {"age": None, "size": 2.5, "name": None}
            ),
            id="null",
        ),
        pytest.param(
            ReadJsonl, json_lines({"age": 30, "name": "a"}, {"size": 2.5}), id="not mentioned"
        ),
    ],
)
def test_numbers_that_are_missing_may_be_stored(tmp_path, run_transform, read, text):
    path = write(tmp_path / "m", text)

    assert len(rejects(run_transform(read(path)))) == 2
    records = records_by_key(run_transform(read(path, missing_number=math.nan)))

    first, second = (
        records[f"m:{line}"].features for line in ((2, 3) if read is ReadCsv else (1, 2))
    )
    assert (first["age"], first["name"], second["size"], second["name"]) == (30, "a", 2.5, "")
    assert math.isnan(first["size"])
    assert math.isnan(second["age"])


def test_boxes_without_a_number_beside(tmp_path, run_transform):
    path = write(
        tmp_path / "m.csv",
        "filename,class,xmin,ymin,xmax,ymax,score\na.jpg,x,1,2,3,4,0.5\na.jpg,x,1,2,3,4,\n",
    )

    (record,) = records_by_key(run_transform(ReadCsv(path, missing_number=-1.0))).values()

    assert record.features["boxes"].attributes == {"score": (0.5, -1.0)}


def test_a_label_is_no_number_that_may_be_missing(tmp_path, run_transform):
    path = write(tmp_path / "m.csv", "x,label\n1,3\n2,\n")

    elements = run_transform(ReadCsv(path, missing_number=math.nan))

    assert rejects(elements)["m.csv:3"][0] == "missing value"
