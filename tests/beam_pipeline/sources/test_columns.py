"""The parts of columns by their names, and the kinds of their values."""

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.sources.columns import (
    convert,
    kind_of_json,
    kind_of_text,
    merge_kinds,
    pick_columns,
)


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
