"""What the first rows show of the columns."""

import pytest

from beam_pipeline.sources.manifest.csv_dialect import Dialect
from beam_pipeline.sources.manifest.csv_table import CsvTable
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.first_rows import FirstRow, Seen
from beam_pipeline.sources.manifest.json_table import JsonTable

NO_CLASSES = {"lists", "no_classes"}


def looks_of(column, folder, table=JsonTable, **of_table):
    manifest = Manifest(path="m", relative="m", split=None, folder=str(folder), root=str(folder))
    rows = [FirstRow(manifest, line, {"x": value}) for line, value in enumerate(column)]
    facts = Seen([table(manifest=manifest, **of_table)], rows).facts
    names = ("nonempty", "nested", "lists", "objects", "media", "files", "numbers", "no_classes")
    return {name for name in names if "x" in getattr(facts, name)} - {"nonempty"}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        pytest.param([1, 2.0, True], {"numbers"}, id="whole"),
        pytest.param([1, 2.5], {"numbers", "no_classes"}, id="a fraction"),
        pytest.param([n / 1 for n in range(21)], {"numbers", "no_classes"}, id="measures"),
        pytest.param([1, float("nan")], {"numbers", "no_classes"}, id="nan"),
        pytest.param([1, "a"], set(), id="text too"),
        pytest.param(["1", "2"], set(), id="digits are text in JSON"),
        pytest.param([None, " "], set(), id="nothing"),
        pytest.param([{"a": 1}], {"nested", "objects"}, id="objects"),
        pytest.param([1, {"a": 1}], {"numbers"}, id="as many objects"),
        pytest.param([1, {"a": 1}, {}], {"nested", "objects"}, id="more objects"),
        pytest.param([[1, 2], [], ["b"]], {"nested", "lists"}, id="classes"),
        pytest.param([[1, 2], [3], 3], {"nested", "lists"}, id="a number too"),
        pytest.param([1, 2.5, [3]], {"numbers", "no_classes"}, id="a list too"),
        pytest.param([[0, 1], [0, 0]], {"nested"} | NO_CLASSES, id="twice the same"),
        pytest.param([["O", "B", "O"]], {"nested"} | NO_CLASSES, id="a class a word"),
        pytest.param([[0.5]], {"nested"} | NO_CLASSES, id="fractions in lists"),
        pytest.param([[[1], [2]]], {"nested"} | NO_CLASSES, id="lists in lists"),
        pytest.param([[[1], 2]], {"nested", "objects"}, id="ragged"),
        pytest.param([[{"a": 1}], [[1]], [{}]], {"nested", "objects"}, id="lists of objects"),
        pytest.param(["a.jpg", "there.png"], {"media", "files"}, id="one is there"),
        pytest.param(["a.jpg", "b.png"], {"media"}, id="none is there"),
        pytest.param(["there.png", "a.wav"], set(), id="of two kinds"),
        pytest.param(["there.png", "a"], set(), id="not all are names"),
        pytest.param(["there.png", 1], set(), id="a number"),
        pytest.param(["a.jpg"] * 20 + ["there.png"], {"media", "files"}, id="late"),
        pytest.param(["none://b/a.jpg"], {"media"}, id="no such file system"),
    ],
)
def test_values_of_json(tmp_path, column, expected):
    (tmp_path / "there.png").touch()
    assert looks_of(column, tmp_path) == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        pytest.param(["1", "2.0", ""], {"numbers"}, id="whole"),
        pytest.param(["1", "2.5"], {"numbers", "no_classes"}, id="a fraction"),
        pytest.param([f"{n}.0" for n in range(21)], {"numbers", "no_classes"}, id="measures"),
        pytest.param([f"{n % 20}.0" for n in range(40)], {"numbers"}, id="few, written so"),
        pytest.param([f"{n}" for n in range(21)], {"numbers"}, id="many classes"),
        pytest.param(["[1, 2]", "[]"], {"lists"}, id="classes"),
        pytest.param(["16 0", "3"], {"lists"}, id="classes by their numbers"),
        pytest.param(["0.5 0", "3"], NO_CLASSES, id="spaced fractions"),
        pytest.param(["[1, 2]", "x"], set(), id="not all are lists"),
        pytest.param(["[0, 0]"], NO_CLASSES, id="twice the same"),
    ],
)
def test_fields_of_csv(tmp_path, column, expected):
    of_csv = {"dialect": Dialect(1, ",", False), "has_header": True}
    assert looks_of(column, tmp_path, CsvTable, **of_csv) == expected
