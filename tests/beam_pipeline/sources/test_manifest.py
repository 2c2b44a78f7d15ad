"""Rows of manifests become records: parts of columns, kinds, boxes, and malformed rows."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Boxes, ClassLabel, Record, Rejected
from beam_pipeline.sources.columns import (
    convert,
    kind_of_json,
    kind_of_text,
    merge_kinds,
    pick_columns,
)
from beam_pipeline.sources.manifest import ReadCsv, ReadJsonl
from beam_pipeline.sources.manifest_records import (
    PictureRow,
    json_row_kinds,
    record_from_rows,
    records_of_picture,
)
from beam_pipeline.sources.manifest_rows import Row, csv_rows, json_rows


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


def record_of_json(**values: Any) -> Record:
    """The record of a JSON row alone in its manifest."""
    values = {"file_name": "a.jpg", **values}
    lists = {name for name, value in values.items() if isinstance(value, list | dict)}
    columns = pick_columns(values, lists=lists)
    row = PictureRow("a.jpg", "/in/a.jpg", "m.jsonl:1", None, values)
    return record_from_rows([row], columns, merge_kinds([json_row_kinds(values, columns)]))


# --- whole manifests ---------------------------------------------------------------------


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
        b'7.jpg\t"unclosed\t7\n',
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


def test_unsupported_columns_stop_before_the_job_or_reject_the_row(tmp_path, run_transform):
    good = {"image": "a.jpg"}
    path = write(tmp_path / "early.jsonl", json_lines(good, {"image": "b.jpg", "v": [1, 2]}))
    with pytest.raises(ConfigError, match=r"early\.jsonl:2: .*'v' holds \[1, 2\].*ignore_columns"):
        run_transform(ReadJsonl(path))
    assert len(run_transform(ReadJsonl(path, ignore_columns=["v"]))) == 2

    late = [good | {"image": f"{number}.jpg"} for number in range(120)] + [good | {"v": {}}]
    elements = run_transform(ReadJsonl(write(tmp_path / "late.jsonl", json_lines(*late))))
    assert len(records_by_key(elements)) == 120
    assert rejects(elements)["late.jsonl:121"][0] == "unsupported column"


def test_vertex_rows_without_a_header(tmp_path, run_transform):
    path = write(
        tmp_path / "v.csv",
        "TRAIN,gs://b/a.jpg,cat,0.1,0.2,,,0.3,0.4,,\nUNASSIGNED,/x/b.jpg,cat,.1,.2,,,.3,.4,,\n",
    )
    with pytest.raises(ConfigError, match=r"'gs://b/a\.jpg'.*--image-column.*header line"):
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


# --- which files -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        pytest.param(["metadata.csv", "other.csv"], {"a.jpg": None}, id="metadata first"),
        pytest.param(["one.csv", "x/y/deep.csv"], {"a.jpg": None}, id="the only one"),
        pytest.param(
            ["data/train/metadata.csv", "data/dev/metadata.csv", "x.csv"],
            {"data/train/a.jpg": "train", "data/dev/a.jpg": "dev"},
            id="below data",
        ),
        pytest.param(["train.csv", "notes.csv"], {"a.jpg": "train"}, id="named after a split"),
    ],
)
def test_which_files_of_a_folder_are_read(tmp_path, run_transform, files, splits):
    for file in files:
        write(tmp_path / file, "file_name\na.jpg\n")
    records = records_by_key(run_transform(ReadCsv(str(tmp_path))))
    assert {key: record.split for key, record in records.items()} == splits


def test_a_manifest_that_cannot_be_read_stops_before_the_job(tmp_path, run_transform):
    for source, message in [
        (ReadCsv(str(tmp_path / "absent.csv")), "absent.csv does not exist"),
        (ReadCsv(write(tmp_path / "d/empty.csv", "")), "empty.csv is empty"),
        (ReadCsv(write(tmp_path / "d/twice.csv", "image,a,a\n")), "column 'a' twice"),
        (ReadCsv(write(tmp_path / "d/wide.csv", "image\n".encode("utf-16"))), "is UTF-16"),
        (ReadCsv(str(tmp_path / "d")), "empty.csv, twice.csv, wide.csv: give one file"),
        (ReadJsonl(write(tmp_path / "d/x.jsonl", "image,label\n")), "no line with a JSON object"),
    ]:
        with pytest.raises(ConfigError, match=message):
            run_transform(source)


# --- columns and kinds -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param("image label", {"image": "image", "label": "label"}, id="plain"),
        pytest.param(
            "Path FILENAME Class target SET",
            {"image": "FILENAME", "label": "Class", "split": "SET"},
            id="the list's order, any case",
        ),
        pytest.param(
            "file x1 y1 x2 y2 width height",
            {"corners": ("x1", "y1", "x2", "y2"), "size": ("width", "height")}, id="corners",
        ),
        pytest.param(
            "file x y width height",
            {"corners": ("x", "y", "width", "height"), "size": None, "box_format": "xywh"},
            id="width of the box",
        ),
        pytest.param("file width height", {"corners": None, "size": None}, id="no boxes"),
    ],
)  # fmt: skip
def test_pick_columns_by_name(names, expected):
    columns = pick_columns(names.split())
    assert {name: getattr(columns, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ("a b", {}, "none of the columns 'a', 'b' holds"),
        ("image labl", {"label": "label"}, "--label-column 'label'.*did you mean 'labl'"),
        ("path image", {"image": "path"}, "'image' would take the place"),
        ("path label kind", {"label": "kind"}, "'label' would take the place"),
        ("path xmin ymin xmax ymax", {"box_format": "voc"}, "'voc' is none of xyxy, xywh"),
        ("path boxes xmin ymin xmax ymax", {}, "'boxes' would take the place"),
    ],
)
def test_pick_columns_says_what_is_wrong(names, options, message):
    with pytest.raises(ConfigError, match=message):
        pick_columns(names.split(), **options)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("1 -2 0", [1, -2, 0]),
        ("1 2.5 1e3 .5 2.", [1.0, 2.5, 1000.0, 0.5, 2.0]),
        ("1 nan -Inf", [1.0, "nan", "-inf"]),
        ("007 1", ["007", "1"]),
        ("1_000 2", ["1_000", "2"]),
        ("0x1 2", ["0x1", "2"]),
        ("9223372036854775807", [2**63 - 1]),
        ("9223372036854775808 1", ["9223372036854775808", "1"]),
        ("١", ["١"]),
    ],
)
def test_kinds_of_text(texts, expected):
    kind = merge_kinds([{"x": kind_of_text(text)} for text in texts.split()])["x"]
    values = [convert("x", text, kind) for text in texts.split()]
    assert list(map(str, values)) == list(map(str, expected))
    assert {type(value) for value in values} == {kind}


def test_a_missing_value_is_an_empty_text_and_no_number():
    kinds = merge_kinds([{"n": kind_of_text("")}, {"n": kind_of_text("1")}])
    assert kinds == {"n": int}
    for missing in ("", " ", None):
        with pytest.raises(RecordError, match="missing value: column 'n'"):
            convert("n", missing, int)
    assert convert("t", None, str) == convert("t", None, None) == convert("t", "", str) == ""


def test_kinds_of_json():
    assert [kind_of_json(value) for value in (1, True, 1.5, "1", None, 2**70)] == [
        int, int, float, str, None, str,
    ]  # fmt: skip


# --- rows --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        pytest.param("a.csv", "a,b\n1,2", [Row(2, {"a": "1", "b": "2"})], id="no last line end"),
        pytest.param("a.csv", ",a\n0,1\n", [Row(2, {"a": "1"})], id="pandas's index"),
        pytest.param("a.csv", "a|b\n1|2,3\n", [Row(2, {"a": "1", "b": "2,3"})], id="bar"),
        pytest.param("a.csv", "a\tb\n1\t2\n", [Row(2, {"a": "1", "b": "2"})], id="tab"),
        pytest.param("a.tsv", "a,b\tc\n1\t2\n", [Row(2, {"a,b": "1", "c": "2"})], id="tsv"),
        pytest.param("a.csv", "a\n1\n", [Row(2, {"a": "1"})], id="one column"),
        pytest.param(
            "a.csv", 'a,b\n"1\n2",3\n4,5\n',
            [Row(2, {"a": "1\n2", "b": "3"}), Row(4, {"a": "4", "b": "5"})], id="line ends",
        ),
    ],
)  # fmt: skip
def test_csv_rows(tmp_path, name, text, rows):
    path = write(tmp_path / name, text)
    assert list(csv_rows(path, name)) == rows


def test_json_rows_refuse_what_is_no_character(tmp_path):
    path = write(tmp_path / "m.jsonl", b'{"a": "\\ud800"}\n{"a": "\xff"}\n{"a": "\\ud83d\\ude00"}')
    first, second, third = json_rows(path, "m.jsonl")
    assert "not UTF-8" in first.detail
    assert "not UTF-8" in second.detail
    assert third == Row(3, {"a": "😀"})


# --- boxes in JSON -----------------------------------------------------------------------

TWO = ((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0))
LISTS = [[1, 2, 3, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({"boxes": LISTS}, Boxes(coordinates=TWO), id="boxes alone"),
        pytest.param({"boxes": []}, Boxes(coordinates=()), id="none"),
        pytest.param(
            {"bboxes": LISTS, "labels": ["a", "b"], "iscrowd": [0, 1]},
            Boxes(coordinates=TWO, labels=("a", "b"), attributes={"is_crowd": (0, 1)}),
            id="lists beside",
        ),
        pytest.param(
            {"objects": {"bbox": LISTS, "categories": [1, 2], "by": ["x", None]}},
            Boxes(
                coordinates=TWO, format="xywh", labels=("1", "2"), attributes={"by": ("x", "")}
            ),
            id="object of lists",
        ),
        pytest.param(
            {"objects": [{"box": box, "label": "a", "score": 0.5} for box in LISTS]},
            Boxes(
                coordinates=TWO, format="xywh", labels=("a", "a"), attributes={"score": (0.5, 0.5)}
            ),
            id="list of objects",
        ),
        pytest.param(
            {"objects": [{"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4, "name": "a"}]},
            Boxes(coordinates=TWO[:1], labels=("a",)),
            id="corners by name",
        ),
        pytest.param(
            {"objects": [{"box": {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4}, "label": "a"}]},
            Boxes(coordinates=TWO[:1], labels=("a",)),
            id="a box with names",
        ),
        pytest.param(
            {"objects": {}, "width": 3, "height": 2},
            Boxes(coordinates=(), format="xywh", image_size=(3, 2)),
            id="empty object",
        ),
    ],
)  # fmt: skip
def test_boxes_of_a_json_row(values, expected):
    assert others(record_of_json(**values)) == {"boxes": expected}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"boxes": [[1, 2, 3]]}, r"box \[1, 2, 3\] is not four", id="three"),
        pytest.param({"boxes": [[1, 2, 3, "x"]]}, "is not four numbers", id="a word"),
        pytest.param({"boxes": [[1, 2, 3, float("nan")]]}, "finite", id="nan"),
        pytest.param({"boxes": LISTS, "labels": ["a"]}, "'labels' has 1 values for 2", id="few"),
        pytest.param({"objects": [{"label": "a"}]}, "no bbox among 'label'", id="no bbox"),
        pytest.param({"objects": [{"bbox": [1, 2, 3, 4]}, 5]}, "mixes", id="mixed"),
        pytest.param(
            {"objects": {"bbox": LISTS, "mask": [[1], [2]]}}, "unsupported.*objects.mask", id="mask"
        ),
        pytest.param({"objects": {"bbox": LISTS}, "v": [1, 2]}, "unsupported.*'v'", id="beside"),
        pytest.param({"boxes": [], "width": "x", "height": 1}, "width and height", id="size"),
        pytest.param(
            {"objects": {"bbox": LISTS, "label": ["a", None]}}, "missing value", id="one label"
        ),
    ],
)
def test_malformed_boxes_of_a_json_row(values, message):
    with pytest.raises(RecordError, match=message):
        record_of_json(**values)


def test_rows_of_one_picture_in_two_splits_are_rejected():
    columns = pick_columns(["image", "xmin", "ymin", "xmax", "ymax", "split"])
    rows = [
        PictureRow(
            "a.jpg",
            "/a.jpg",
            f"m.csv:{line}",
            None,
            {"image": "a.jpg", "xmin": "1", "ymin": "1", "xmax": "2", "ymax": "2", "split": split},
        )
        for line, split in ((2, "train"), (3, "test"))
    ]
    (reject,) = records_of_picture("a.jpg", rows, columns, {})
    assert isinstance(reject, Rejected)
    assert "['test', 'train']" in reject.detail
