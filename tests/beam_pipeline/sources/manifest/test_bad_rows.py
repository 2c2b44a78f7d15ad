"""What cannot be used: a row is rejected by its line, a column or header stops the build."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


def test_rows_that_cannot_be_used_are_rejected_by_line(
    tmp_path, read_manifest, write, records_by_key, rejects
):
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

    elements = read_manifest(ReadCsv(path))

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


def test_jsonl_rows_that_cannot_be_used(
    tmp_path, read_manifest, write, json_lines, records_by_key, rejects, others
):
    path = write(
        tmp_path / "m.jsonl",
        json_lines({"image": "1.jpg", "label": 3, "n": 1}, {"image": "2.jpg", "label": 3.0})
        + "\n{\n[1]\n"
        + json_lines({"label": 1, "n": 1}, {"image": "7.jpg", "label": None, "n": 1}),
    )
    elements = read_manifest(ReadJsonl(path))
    assert others(records_by_key(elements)["1.jpg"]) == {"label": ClassLabel("3"), "n": 1}
    assert {source: reason for source, (reason, _) in rejects(elements).items()} == {
        "m.jsonl:2": "missing value",
        "m.jsonl:4": "malformed annotation",
        "m.jsonl:5": "malformed annotation",
        "m.jsonl:6": "malformed annotation",
        "m.jsonl:7": "missing value",
    }


@pytest.mark.parametrize(
    ("usual", "odd", "reason"),
    [
        pytest.param(None, {}, "unsupported column", id="object"),
        pytest.param(1, [1], "unsupported column", id="list among numbers"),
        pytest.param([1], 1, "unsupported column", id="number among lists"),
        pytest.param([1], {}, "unsupported column", id="object among lists"),
        pytest.param([1], [["a"]], "unsupported column", id="text in lists"),
        pytest.param([1], [[1], 2], "malformed annotation", id="ragged"),
        pytest.param([1], None, "missing value", id="no list"),
        pytest.param([1], [None], "missing value", id="null in a list"),
        pytest.param([1], [2**64], "value out of range", id="huge"),
        pytest.param([1.5], [1e300], "value out of range", id="too large for float32"),
    ],
)
@pytest.mark.parametrize("line", [1, 51, 121])
def test_an_odd_value_rejects_its_row_alone(
    tmp_path, read_manifest, write, json_lines, records_by_key, rejects, usual, odd, reason, line
):
    rows = [{"image": f"{number}.jpg", "v": usual} for number in range(120)]
    rows.insert(line - 1, {"image": "odd.jpg", "v": odd})
    elements = read_manifest(ReadJsonl(write(tmp_path / "m.jsonl", json_lines(*rows))))
    assert len(records_by_key(elements)) == 120
    ((source, found),) = rejects(elements).items()
    assert source == f"m.jsonl:{line}"
    assert found[0] == reason
    assert "column 'v'" in found[1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param({"x": 1}, r"'v' holds \{'x': 1\}, an object; .*ignore-columns", id="object"),
        pytest.param([{"x": 1}], "is not a list of plain values", id="list of objects"),
        pytest.param([["a"]], "is not a list of plain values", id="nested texts"),
    ],
)
def test_unsupported_columns_stop_before_the_job(
    tmp_path, read_manifest, write, json_lines, value, message
):
    rows = [{"image": "a.jpg", "v": 3}, {"image": "b.jpg"}]
    rows += [{"image": f"{number}.jpg", "v": value} for number in range(3)]
    path = write(tmp_path / "m.jsonl", json_lines(*rows))
    with pytest.raises(ConfigError, match=rf"m\.jsonl:3: .*{message}.*\(3 of the first 5 rows"):
        read_manifest(ReadJsonl(path))
    assert len(read_manifest(ReadJsonl(path, ignore_columns=["v"]))) == 5


def test_half_of_the_rows_may_be_odd(tmp_path, read_manifest, write, json_lines, rejects):
    path = write(tmp_path / "m.jsonl", json_lines({"v": 1}, {"v": {"a": 2}}))
    assert rejects(read_manifest(ReadJsonl(path))) == {
        "m.jsonl:2": (
            "unsupported column",
            "column 'v' holds {'a': 2}, an object; fix it, or leave the column out with "
            "--ignore-columns",
        )
    }


def test_odd_lists_beside_boxes(
    tmp_path, read_manifest, write, json_lines, records_by_key, rejects
):
    row = {"boxes": [[1, 2, 3, 4]], "areas": [5]}
    rows = [{"image": f"{number}.jpg", **row} for number in range(9)]
    path = write(tmp_path / "m.jsonl", json_lines(*rows, {"image": "odd.jpg", **row, "areas": 5}))
    elements = read_manifest(ReadJsonl(path))
    assert all(
        record.features["boxes"].attributes == {"areas": (5,)}
        for record in records_by_key(elements).values()
    )
    assert rejects(elements)["m.jsonl:10"] == ("malformed annotation", "'areas' has 5 for 1 boxes")


def test_lists_beside_the_one_box_of_a_row(tmp_path, read_manifest, write, json_lines):
    row = {"image": "a.jpg", "x": 1, "y": 2, "w": 3, "h": 4, "outline": [1, 2, 3]}
    path = write(tmp_path / "m.jsonl", json_lines(row))
    with pytest.raises(ConfigError, match=r"'outline' holds lists.*--ignore-columns"):
        read_manifest(ReadJsonl(path))


@pytest.mark.parametrize(
    "header", [pytest.param("1.jpg,cat", id="a path"), pytest.param("5.1,3.5,setosa", id="numbers")]
)
def test_a_csv_without_a_header(tmp_path, read_manifest, write, header):
    path = write(tmp_path / "m.csv", f"{header}\n")
    with pytest.raises(ConfigError, match=r"is not the name of a column: .*--column-names"):
        read_manifest(ReadCsv(path))
    names = [*"abc"][: header.count(",") + 1]
    assert len(read_manifest(ReadCsv(path, column_names=names))) == 1


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param("39, State, 77516, 13", "each is larger .*--column-names", id="UCI's adult"),
        pytest.param("5,0,0,0", "each is larger .*--column-names", id="MNIST"),
        pytest.param("a,b,a", "'a' twice: rename one, or.*--column-names", id="twice"),
        pytest.param("a\rb\rc", "line ends of LF or CRLF", id="old Macintosh"),
    ],
)
def test_a_header_that_cannot_be_one(tmp_path, read_manifest, write, header, message):
    with pytest.raises(ConfigError, match=message):
        read_manifest(ReadCsv(write(tmp_path / "m.csv", f"{header}\n")))


def test_numbers_that_name_columns(tmp_path, read_manifest, write):
    path = write(tmp_path / "m.csv", "country,2001,2002\nCuba,1,2\n")
    (record,) = read_manifest(ReadCsv(path))
    assert record.features == {"country": "Cuba", "2001": 1, "2002": 2}


BOXES = {"image": "a.jpg", "objects": {"bbox": [[1, 2, 3, 4]], "iscrowd": [0], "area": [5]}}
BESIDE = {"image": "a.jpg", "boxes": [[1, 2, 3, 4]], "areas": [5]}


@pytest.mark.parametrize(
    ("row", "ignored"),
    [
        pytest.param({"x": 1, "y": 2}, "y", id="a column"),
        pytest.param(BOXES, "objects.area", id="an attribute"),
        pytest.param(BOXES, "area", id="an attribute alone"),
        pytest.param(BOXES, "iscrowd", id="as it is written"),
        pytest.param(BOXES, "objects.is_crowd", id="as it is called"),
        pytest.param(BESIDE, "boxes.areas", id="a list beside"),
    ],
)
def test_columns_and_attributes_that_are_left_out(
    tmp_path, read_manifest, write, json_lines, row, ignored
):
    path = write(tmp_path / "m.jsonl", json_lines(row))
    names = set()
    for source in (ReadJsonl(path), ReadJsonl(path, ignore_columns=[ignored])):
        (record,) = read_manifest(source)
        boxes = record.features.get("boxes")
        names ^= {*record.features, *(boxes.attributes if boxes else ())}
    assert len(names) == 1


@pytest.mark.parametrize(
    ("row", "ignored", "near"),
    [
        pytest.param({"notes": 1}, "note", "notes", id="a column"),
        pytest.param(BOXES, "objects.aera", "objects.area", id="an attribute"),
        pytest.param(BOXES, "objects.iscrowd", "objects.is_crowd", id="as it is not called"),
    ],
)
def test_leaving_out_what_is_not_there(
    tmp_path, read_manifest, write, json_lines, row, ignored, near
):
    source = ReadJsonl(write(tmp_path / "m.jsonl", json_lines(row)), ignore_columns=[ignored])
    message = f"--ignore-columns '{ignored}' is not there; .*did you mean '{near}'"
    with pytest.raises(ConfigError, match=message):
        read_manifest(source)


def test_leaving_out_what_few_rows_have(tmp_path, read_manifest, write, json_lines):
    rows = [{"x": number} for number in range(110)]
    path = write(tmp_path / "m.jsonl", json_lines(*rows, {"x": 1, "odd": {}}))
    assert len(read_manifest(ReadJsonl(path, ignore_columns=["odd"]))) == 111


def test_leaving_out_what_a_csv_does_not_have(tmp_path, read_manifest, write):
    path = write(tmp_path / "m.csv", "notes,,x\na,2,1\n")
    with pytest.raises(ConfigError, match=r"there; there are 'notes', 'x'; did you mean 'notes'"):
        read_manifest(ReadCsv(path, ignore_columns=["x", "note"]))
