"""The layouts of tables: what they claim, and that the claim's plan is the one that is read."""

import pyarrow as pa
import pytest
from cases.reading import source_at
from eager_runner import yielded
from file_bytes import parquet_bytes

from beam_pipeline.records import Record
from beam_pipeline.sources.tables import json, read_tables, table_layouts

PARQUET = parquet_bytes(pa.table({"a": [1, 2], "label": ["x", "y"]}))


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"t.csv": "a,label\n1,x\n"}, id="csv"),
        pytest.param({"train.csv": "a,label\n1,x\n", "test.csv": "a\n2\n"}, id="splits"),
        pytest.param({"t.jsonl": '{"a": 1}\n'}, id="jsonl"),
        pytest.param({"t.csv": "image,label\nimg/1.jpg,x\n", "img/1.jpg": ""}, id="names images"),
        pytest.param({"t.parquet": PARQUET}, id="parquet"),
        pytest.param({"a/t.parquet": PARQUET, "b/t.parquet": PARQUET}, id="several parquets"),
    ],
)
def test_tables_are_planned_once(tmp_path, monkeypatch, files):
    root = tmp_path / "input"
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    planned = []
    plan_tables = read_tables.plan_tables

    def plan(tables, options):
        planned.append([table.file.relative for table in tables])
        return plan_tables(tables, options)

    monkeypatch.setattr(read_tables, "plan_tables", plan)
    _, source = source_at(root)
    assert yielded(source)
    names = sorted(name for name in files if not name.endswith("jpg"))
    assert planned == [names]


def test_the_rows_of_a_json_file_are_located_by_the_layout_that_reads_it(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text('{"rows": [{"x": 1}, {"x": 2}]}')
    located = []

    def locate(path, place_of_rows=json.place_of_rows):
        located.append(path)
        return place_of_rows(path)

    monkeypatch.setattr(json, "place_of_rows", locate)
    monkeypatch.setattr(table_layouts, "place_of_rows", locate)
    _, source = source_at(tmp_path)
    assert len([each for each in yielded(source) if isinstance(each, Record)]) == 2
    assert len(located) == 2  # to claim the file, and to plan its table
