"""Which column each feature of a schema comes from, and what is left out."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.columns.column import ColumnFacts, TableOptions
from beam_pipeline.sources.columns.declared import declare_columns

TENSOR = {"kind": "tensor", "dtype": "float32", "shape": [2]}
AGE = {"kind": "scalar", "dtype": "int64"}


def declare(schema, names, facts=None, **named):
    options = TableOptions(schema=parse_schema(schema), **named)
    return declare_columns(names.split(), options, ColumnFacts(**(facts or {})))


@pytest.mark.parametrize(
    ("schema", "names", "named", "columns", "key"),
    [
        pytest.param(
            {"image": "image", "label": "class_label"}, "Path target x", {},
            {"image": "Path", "label": "target"}, "Path", id="usual names",
        ),
        pytest.param(
            {"image": "image", "label": "class_label"}, "path scan target kind",
            {"image_column": "scan", "label_column": "kind"},
            {"image": "scan", "label": "kind"}, "scan", id="told",
        ),
        pytest.param(
            {"image": "image", "path": "text"}, "img path", {},
            {"image": "img", "path": "path"}, "img", id="a name that another feature has",
        ),
        pytest.param(
            {"image": "image", "mask": "image", "species": "class_label"}, "image mask species", {},
            {"image": "image", "mask": "mask", "species": "species"}, "image", id="own names",
        ),
        pytest.param({"age": AGE}, "id age", {}, {"age": "age"}, "", id="a table"),
        pytest.param({"x": TENSOR}, "x", {}, {"x": "x"}, "", id="a tensor"),
        pytest.param({"array": TENSOR}, "array", {}, {"array": "array"}, "", id="numbers"),
    ],
)  # fmt: skip
def test_columns_of_features(schema, names, named, columns, key):
    declared = declare(schema, names, **named)
    assert {feature.name: column for feature, column in declared.declared} == columns
    assert declared.key == key


def test_arrays_name_their_records_where_they_are_files():
    declared = declare({"array": TENSOR}, "file_name", {"media": {"file_name": "array"}})
    assert declared.key == "file_name"
    assert declared.declared[0][1] == "file_name"


def test_all_other_columns_are_left_out():
    declared = declare({"age": AGE}, "id age split note", ignore_columns=["note"])
    assert declared.split == "split"
    assert declared.ignored == {"id", "note"}


def test_tokens_come_from_their_text():
    tokens = {"kind": "sequence", "dtype": "int64"}
    declared = declare({"caption": "text", "caption/tokens": tokens}, "caption")
    assert [column for _, column in declared.declared] == ["caption"]


def test_boxes_take_their_columns_and_declared_attributes():
    schema = {
        "image": "image",
        "boxes": {"kind": "boxes", "attributes": {"is_crowd": "int64"}},
        "age": AGE,
    }
    declared = declare(schema, "image xmin ymin xmax ymax label iscrowd area age width height")
    assert declared.corners == ("xmin", "ymin", "xmax", "ymax")
    assert (declared.box_labels, declared.size) == ("label", ("width", "height"))
    assert declared.ignored == {"area"}


@pytest.mark.parametrize(
    ("schema", "names", "named", "message"),
    [
        ({"age": AGE}, "ages id", {}, "feature 'age', .* there are 'ages', 'id'; did you .*'ages'"),
        ({"image": "image"}, "x y", {}, "feature 'image', but there is no column for it"),
        (
            {"label": "class_label"},
            "x",
            {"label_column": "y"},
            "--label-column 'y' is not a column",
        ),
        ({"boxes": "boxes"}, "image", {}, "declares boxes, but there .*xmin, ymin, xmax, ymax"),
        ({"parts": "boxes"}, "boxes", {}, "the boxes 'parts'; .*named 'boxes'"),
    ],
)
def test_a_feature_without_a_column(schema, names, named, message):
    with pytest.raises(ConfigError, match=message):
        declare(schema, names, **named)
