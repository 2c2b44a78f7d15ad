"""The TF Object Detection API and Model Garden can read the label maps."""

import csv
import io

import pytest

from beam_pipeline.describe.label_map import csv_text, protobuf_text


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("cat", "cat"),
        ('"quoted"', r"\"quoted\""),
        ("back\\slash", r"back\\slash"),
        ("tab\tand\nline", r"tab\tand\nline"),
        ("weiße 猫 🐈", "weiße 猫 🐈"),
    ],
)
def test_a_label_map_has_ids_from_one_and_the_escapes_of_protobuf(name, written):
    assert protobuf_text(["a", name]) == (
        f'item {{\n  id: 1\n  name: "a"\n}}\nitem {{\n  id: 2\n  name: "{written}"\n}}\n'
    )


@pytest.mark.parametrize("classes", [["cat", "dog"], ['"a"', "b\\", "c\td\n", "e,f"], ["猫", "🐈"]])
def test_model_garden_reads_rows_without_a_header(classes):
    rows = csv.reader(io.StringIO(csv_text(classes)), delimiter=",")
    assert [(int(number), name) for number, name in rows] == list(enumerate(classes, 1))


def test_a_class_that_a_spreadsheet_would_run_is_a_text():
    classes = ["=cmd|' /C calc'!A0", "@SUM(1)", "+a", "-1", "+1.5", "cat"]
    rows = dict(csv.reader(io.StringIO(csv_text(classes))))
    assert [*rows.values()] == [*(f"'{name}" for name in classes[:3]), *classes[3:]]
