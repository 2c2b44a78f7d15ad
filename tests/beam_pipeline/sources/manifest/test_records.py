"""Rows become records: boxes in JSON, and rows that contradict one another."""

from typing import Any

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Objects, Record, Rejected
from beam_pipeline.sources.columns.choice import pick_columns
from beam_pipeline.sources.columns.kinds import kind_of_json
from beam_pipeline.sources.columns.options import TableOptions
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.first_rows import FirstRow, look
from beam_pipeline.sources.manifest.json_columns import with_lists
from beam_pipeline.sources.manifest.json_table import JsonTable
from beam_pipeline.sources.manifest.kinds import kinds_of
from beam_pipeline.sources.manifest.records import BoxRow, RecordMaker, record_from_boxes
from beam_pipeline.sources.manifest.table import Batch

MANIFEST = Manifest(path="/in/m.jsonl", relative="m.jsonl", split=None, folder="/in", root="/in")


def others(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.features.items() if name != "image"}


def record_of_json(**values: Any) -> Record:
    """The record of a JSON row alone in its manifest."""
    values = {"file_name": "a.jpg", **values}
    table = JsonTable(manifest=MANIFEST)
    of_row = {name: [value] for name, value in values.items()}
    row = Batch(columns=of_row, lines=[0], offsets=[0], lengths=[0])
    first = [FirstRow(MANIFEST, 1, values)]
    facts = look(first, kind_of_json)
    columns = with_lists(pick_columns(values, TableOptions(), facts), facts, first)
    kinds = kinds_of(table, row, columns)
    (element,) = RecordMaker(table, columns, kinds, 1).elements(row)
    if isinstance(element, Rejected):
        raise RecordError(element.reason, element.detail)
    return element


TWO = ((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0))
LISTS = [[1, 2, 3, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({"boxes": LISTS}, Objects(boxes=TWO), id="boxes alone"),
        pytest.param({"boxes": []}, Objects(boxes=()), id="none"),
        pytest.param(
            {"bboxes": LISTS, "labels": ["a", "b"], "iscrowd": [0, 1]},
            Objects(boxes=TWO, labels=("a", "b"), attributes={"is_crowd": (0, 1)}),
            id="lists beside",
        ),
        pytest.param(
            {"objects": {"bbox": LISTS, "categories": [1, 2], "by": ["x", None]}},
            Objects(
                boxes=TWO, format="xywh", labels=("1", "2"), attributes={"by": ("x", "")}
            ),
            id="object of lists",
        ),
        pytest.param(
            {"objects": [{"box": box, "label": "a", "score": 0.5} for box in LISTS]},
            Objects(
                boxes=TWO, format="xywh", labels=("a", "a"), attributes={"score": (0.5, 0.5)}
            ),
            id="list of objects",
        ),
        pytest.param(
            {"objects": [{"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4, "name": "a"}]},
            Objects(boxes=TWO[:1], labels=("a",)),
            id="corners by name",
        ),
        pytest.param(
            {"objects": [{"box": {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4}, "label": "a"}]},
            Objects(boxes=TWO[:1], labels=("a",)),
            id="a box with names",
        ),
        pytest.param(
            {"objects": {}, "width": 3, "height": 2},
            Objects(boxes=(), format="xywh", image_size=(3, 2)),
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
        pytest.param({"objects": {"bbox": LISTS}, "v": {}}, "unsupported.*'v'", id="beside"),
        pytest.param({"boxes": [], "width": "x", "height": 1}, "width and height", id="size"),
        pytest.param(
            {"objects": {"bbox": LISTS, "label": ["a", None]}}, "missing value", id="one label"
        ),
    ],
)
def test_malformed_boxes_of_a_json_row(values, message):
    with pytest.raises(RecordError, match=message):
        record_of_json(**values)


@pytest.mark.parametrize(
    ("values", "box_attributes", "others_"),
    [
        pytest.param({"boxes": LISTS, "hard": [0, 1]}, {"hard": (0, 1)}, set(), id="one a box"),
        pytest.param({"boxes": LISTS, "vector": [1, 2, 3]}, {}, {"vector"}, id="another length"),
        pytest.param({"boxes": LISTS, "vector": [[1], [2]]}, {}, {"vector"}, id="nested"),
        pytest.param({"objects": {"bbox": LISTS}, "v": [1, 2]}, {}, {"v"}, id="beside an object"),
    ],
)
def test_lists_beside_boxes(values, box_attributes, others_):
    features = others(record_of_json(**values))
    assert features["boxes"].attributes == box_attributes
    assert features.keys() - {"boxes"} == others_


def test_rows_of_one_image_in_two_splits_are_rejected():
    columns = pick_columns(
        ["image", "xmin", "ymin", "xmax", "ymax", "split"], TableOptions(), look([], str)
    )
    box = {"image": "a.jpg", "xmin": "1", "ymin": "1", "xmax": "2", "ymax": "2"}
    rows = [BoxRow(MANIFEST, "m.jsonl", {**box, "split": split}) for split in ("train", "test")]
    with pytest.raises(RecordError, match=r"\['test', 'train'\]"):
        record_from_boxes("a.jpg", rows, columns, {})
