"""Facts that several intact files repeat are compared."""

import hashlib
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from damages import edit
from file_bytes import parquet_bytes

import beam_pipeline
from tfrecord_dataset.format.frames import framed

SHARD = "zoo-train.tfrecord-00000-of-00002"
ROWS = f"index/{SHARD}.parquet"


def put(dataset, path, data):
    """Write a file with correct size, hash and checksums."""
    (dataset / path).write_bytes(data)
    entry = {"num_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    edit_metadata(dataset, lambda facts: facts["files"].update({path: entry}))


def edit_metadata(dataset, change):
    edit(dataset / "metadata.json", change)
    sha256 = hashlib.sha256((dataset / "metadata.json").read_bytes()).hexdigest()
    edit(dataset / "build.json", lambda facts: facts.update(metadata_sha256=sha256))


def rows(dataset):
    return pyarrow.parquet.read_table(dataset / ROWS, use_threads=False)


def put_rows(dataset, table, path=ROWS):
    put(dataset, path, parquet_bytes(table))


def with_cell(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    at = table.schema.get_field_index(column)
    array = pyarrow.array(values, table.schema.field(column).type)
    return table.set_column(at, column, array)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        pytest.param(lambda table: table.slice(1), "its row 0 is (", id="first"),
        pytest.param(lambda table: with_cell(table, "offset", -1, 1), "is (1, ", id="offset"),
        pytest.param(lambda table: with_cell(table, "length", 0, 1), "is (0, 1), ", id="length"),
        pytest.param(
            lambda table: table.slice(0, 2), "its row 2 is None, the shard has (", id="cut"
        ),
        pytest.param(
            lambda table: pyarrow.concat_tables([table, table.slice(0, 1)]),
            "its row 5 is (0, ",
            id="longer",
        ),
        pytest.param(lambda table: table.drop_columns("age"), "lacks the column age", id="column"),
        pytest.param(
            lambda table: table.set_column(
                table.schema.get_field_index("age"), "age", table.column("age").cast("int32")
            ),
            "its column age is of the type int32, not int64",
            id="type",
        ),
    ],
)
def test_the_rows_of_the_index(dataset, found, change, cause):
    put_rows(dataset, change(rows(dataset)))
    [line] = found(dataset)
    assert line.startswith(f"{ROWS}: ")
    assert cause in line


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda data: data.replace(b"0 ", b"1 ", 1), "its line 0 is '1 "),
        (lambda data: data[: data.index(b"\n") + 1], "its line 1 is '', the shard has"),
        (lambda data: data + b"1 2\n", "is '1 2', the shard has ''"),
        (lambda data: b"\xff" + data, "its line 0 is '�0 "),
    ],
)
def test_spans(dataset, found, change, cause):
    path = f"idx/{SHARD}.idx"
    put(dataset, path, change((dataset / path).read_bytes()))
    [line] = found(dataset)
    assert line.startswith(f"{path}: ")
    assert cause in line


@pytest.mark.parametrize(
    "path",
    [
        "dataset_info.json",
        "features.json",
        "schema.pbtxt",
        "topics.label.labels.txt",
        "label_map.csv",
    ],
)
def test_descriptions(dataset, found, path):
    put(dataset, path, (dataset / path).read_bytes() + b"\n")
    [line] = found(dataset)
    assert line.startswith(f"{path}: it does not match metadata.json; ")


def test_a_file_that_metadata_does_not_list(dataset, found):
    edit_metadata(dataset, lambda facts: [facts["files"].pop(each) for each in (ROWS, "README.md")])
    assert [line.partition("; ")[0] for line in found(dataset)] == [
        "metadata.json: it states no hash of README.md",
        f"metadata.json: it states no hash of {ROWS}",
    ]


@pytest.mark.parametrize(
    "path",
    ["../zoo", "/etc/passwd", "s3://bucket/key", "http://169.254.169.254/x", "a\0b", "..", ""],
)
def test_paths_stay_in_the_dataset(dataset, found, path):
    edit_metadata(dataset, lambda facts: facts["splits"]["train"]["shards"][0].update(file=path))
    [line] = found(dataset)
    assert "splits.train.shards[0].file" in line
    assert "and was not read" in line


def test_a_build_json_of_another_build(dataset, found):
    edit(dataset / "build.json", lambda facts: facts.update(metadata_sha256="0" * 64))
    [line] = found(dataset)
    assert line.startswith("build.json: it belongs to another metadata.json; ")


def test_of_very_many_damaged_records_some_are_named_and_all_counted(tmp_path, found):
    table = tmp_path / "points.jsonl"
    table.write_text("".join(f'{{"id": "{number}", "x": {number}}}\n' for number in range(25)))
    result = beam_pipeline.build(input=str(table), output=str(tmp_path / "data"))
    [shard] = Path(result.path).glob("*.tfrecord-*")
    shard.write_bytes(framed(b"") * 25)
    causes = [line.partition(": ")[2] for line in found(result.path) if shard.name in line]
    assert sum(cause.startswith("record ") for cause in causes) == 20
    assert sum(cause.startswith("5 more records are damaged") for cause in causes) == 1
