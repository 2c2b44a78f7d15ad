"""Workbooks that would not fit into memory are refused with their name."""

import zipfile

import pytest
from cases.inputs import workbook_parts

from beam_pipeline.errors import DataError
from beam_pipeline.sources.tables import xlsx
from beam_pipeline.sources.tables.xlsx import ReadXlsx

ROWS = [["x", "label"], [1, "a"], [2, "b"]]


@pytest.fixture
def written(tmp_path):
    """written(change of a sheet's XML) -> the path of a workbook."""

    def write(change):
        path = tmp_path / "a.xlsx"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in workbook_parts([("One", ROWS)]).items():
                archive.writestr(name, change(text) if "sheet1" in name else text)
        return str(path)

    return write


def far(place):
    return lambda text: text.replace("</sheetData>", f"{place}</sheetData>")


@pytest.mark.parametrize(
    "place",
    [
        pytest.param('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', id="a cell far off"),
        pytest.param("<row r = '900000'><c r='ZZ900000'><v>1</v></c></row>", id="other quotes"),
        pytest.param('<row r="9999"><c><v>1</v></c></row>', id="a cell without place"),
        pytest.param(f'<row r="5"><c r="C{"9" * 20}"/></row>', id="a row beyond 32 bits"),
        pytest.param('<row r="9999"><c r="c2147483648"/></row>', id="small letters"),
        pytest.param(f'<row r="9999"><c r="{"B" * 5000}1"/></row>', id="thousands of letters"),
        pytest.param('<x:row r="9999"><x:c><v>1</v></x:c></x:row>', id="with a prefix"),
    ],
)
def test_a_sheet_that_spans_too_much(written, place):
    with pytest.raises(DataError, match=r"sheet1\.xml is too large for a workbook"):
        ReadXlsx(written(far(place))).job()


def test_a_cell_not_so_far_is_read(written, read_tables):
    path = written(far('<row r="99999"><c r="B99999"><v>b</v></c></row>'))
    *_, last = read_tables(ReadXlsx(path, ignore_columns=["x"]))
    assert last.key == "a.xlsx:99999"


def test_parts_that_unpack_to_too_much(written, monkeypatch):
    monkeypatch.setattr(xlsx, "MAX_MEMBER_BYTES", 1000)
    path = written(lambda text: text + " " * 2000)
    with pytest.raises(DataError, match=r"sheet1\.xml is too large for a workbook"):
        ReadXlsx(path).job()
