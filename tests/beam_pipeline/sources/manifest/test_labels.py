"""Labels of a manifest: by name, by number, several a record, and where a split has none."""

import pytest

from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.manifest.read import ReadCsv
from beam_pipeline.sources.manifest.read_json import ReadJsonl


def test_a_split_whose_labels_come_late(tmp_path, read_manifest, write, by_name):
    write(tmp_path / "train.csv", "x,label\n1,cat\n")
    write(tmp_path / "test.csv", "x,label\n" + "2,\n" * 100 + "3,dog\n")
    records, _ = by_name(read_manifest(ReadCsv(str(tmp_path))))
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
