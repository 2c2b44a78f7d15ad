"""Labels of a manifest: by name, by number, several a record, and where a split has none."""

import math

import numpy as np
import pytest

from beam_pipeline.records import ClassLabel, ClassLabels
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


def test_several_classes_in_a_csv(tmp_path, read_manifest, write, records_by_key, rejects):
    path = write(tmp_path / "m.csv", 'x,label\n1,"[""a"", 3]"\n2,[]\n3,\n')
    elements = read_manifest(ReadCsv(path))
    assert [record.features["label"] for record in records_by_key(elements).values()] == [
        ClassLabels(("a", "3")),
        ClassLabels(()),
    ]
    assert rejects(elements)["m.csv:4"][0] == "missing value"


def test_lists_as_numbers_with_spaces(tmp_path, read_manifest, write, records_by_key):
    path = write(tmp_path / "m.csv", "emotion,tokens,label\n0,70 80 82,16 0\n1,9,3\n")
    records = records_by_key(read_manifest(ReadCsv(path)))
    tokens = [record.features["tokens"] for record in records.values()]
    assert [np.frombuffer(each.data, "<i8").tolist() for each in tokens] == [[70, 80, 82], [9]]
    labels = [record.features["label"].names for record in records.values()]
    assert labels == [("16", "0"), ("3",)]


def test_a_label_with_fractions_is_a_number_to_predict(
    tmp_path, read_manifest, write, records_by_key
):
    path = write(tmp_path / "m.csv", "x,target\n1,2\n2,2.5\n")
    records = records_by_key(read_manifest(ReadCsv(path)))
    assert [record.features["target"] for record in records.values()] == [2.0, 2.5]
    records = records_by_key(read_manifest(ReadCsv(path, label_column="target")))
    assert [record.features["label"].name for record in records.values()] == ["2", "2.5"]


def test_numbers_of_classes_have_no_fraction(
    tmp_path, read_manifest, write, records_by_key, rejects
):
    path = write(tmp_path / "m.csv", "x,label\n1,1.0\n2,0\n3,\n")
    elements = read_manifest(ReadCsv(path))
    assert [record.features["label"] for record in records_by_key(elements).values()] == [
        ClassLabel("1"),
        ClassLabel("0"),
    ]
    assert rejects(elements)["m.csv:4"][0] == "missing value"


def test_numbers_of_classes_that_have_names(
    tmp_path, read_manifest, write, json_lines, records_by_key
):
    table = write(tmp_path / "m.csv", "x,label\n1,1.0\n2,0\n3,cat\n")
    records = records_by_key(read_manifest(ReadCsv(table, classes=("cat", "dog"))))
    assert [record.features["label"].name for record in records.values()] == ["1.0", "cat", "cat"]
    rows = json_lines(
        {"image": "1.jpg", "labels": [1, 0]},
        {"image": "2.jpg", "objects": {"bbox": [[0, 0, 1, 1]], "categories": [1]}},
    )
    for row, feature, names in zip(
        rows.splitlines(), ("label", "boxes"), [("dog", "cat"), ("dog",)], strict=True
    ):
        path = write(tmp_path / "m.jsonl", row)
        (record,) = read_manifest(ReadJsonl(path, classes=("cat", "dog")))
        value = record.features[feature]
        assert (value.names if feature == "label" else value.labels) == names


def test_a_label_is_no_number_that_may_be_missing(tmp_path, read_manifest, write, rejects):
    path = write(tmp_path / "m.csv", "x,label\n1,3\n2,\n")

    elements = read_manifest(ReadCsv(path, missing_number=math.nan))

    assert rejects(elements)["m.csv:3"][0] == "missing value"


@pytest.mark.parametrize("schema", [{}, {"label": "class_label", "x": "text"}])
@pytest.mark.parametrize("test", ["x\n2\n", "x,label\n2,\n"])
def test_a_split_without_labels(
    tmp_path, read_manifest, caplog, write, records_by_key, test, schema
):
    write(tmp_path / "train.csv", "x,label\n1,cat\n")
    write(tmp_path / "test.csv", test)
    records = records_by_key(
        read_manifest(ReadCsv(str(tmp_path), schema=schema and parse_schema(schema)))
    )
    assert records["train.csv:2"].features["label"] == ClassLabel("cat")
    assert records["test.csv:2"].features.keys() == {"x"}
    assert "may lack labels: test.csv" in caplog.text


def test_a_split_whose_labels_come_late(tmp_path, read_manifest, write, records_by_key):
    write(tmp_path / "train.csv", "x,label\n1,cat\n")
    write(tmp_path / "test.csv", "x,label\n" + "2,\n" * 100 + "3,dog\n")
    records = records_by_key(read_manifest(ReadCsv(str(tmp_path))))
    assert records["test.csv:101"].features.keys() == {"x"}
    assert records["test.csv:102"].features["label"] == ClassLabel("dog")


def table(numbers, form, json_lines):
    if form == "csv":
        return "x,target\n" + "".join(f"1,{number}\n" for number in numbers)
    return json_lines(*({"x": 1, "target": number} for number in numbers))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_thousands_of_whole_numbers_are_one_to_predict(
    tmp_path, read_manifest, write, json_lines, caplog, form
):
    text = table([100_000 + 17 * number for number in range(1500)], form, json_lines)
    path = write(tmp_path / f"m.{form}", text)
    read = {"csv": ReadCsv, "jsonl": ReadJsonl}[form]

    records = read_manifest(read(path), range_bytes=4000)

    assert {record.features["target"] for record in records} == {
        100_000 + 17 * number for number in range(1500)
    }
    assert "1,500 different whole numbers in 1,500 rows" in caplog.text
    (first, *_) = read_manifest(read(path, label_column="target"))
    assert first.features["label"] == ClassLabel("100000")


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([number % 900 for number in range(1500)], id="hundreds of classes"),
        pytest.param([number % 1100 for number in range(11_000)], id="ten rows each"),
        pytest.param([f"{number:05d}" for number in range(1500)], id="names"),
        pytest.param([*range(1500), "cat"], id="a word"),
    ],
)
def test_whole_numbers_that_are_classes(tmp_path, read_manifest, write, json_lines, numbers):
    path = write(tmp_path / "m.csv", table(numbers, "csv", json_lines))
    records = read_manifest(ReadCsv(path))
    assert {record.features["label"].name for record in records} == set(map(str, numbers))
