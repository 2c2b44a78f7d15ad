"""What all rows of tables hold: types, and numbers of over 64 bits, batch by batch."""

import pytest

from beam_pipeline.sources.tables.csv import ReadCsv
from beam_pipeline.sources.tables.survey import digits_lost, digits_of, merge_digits, survey

LARGE = str(2**64)


@pytest.mark.parametrize(
    ("batches", "kind", "message"),
    [
        pytest.param([["0.123456789"]], float, "", id="fractions are counted by Inspect"),
        pytest.param([[LARGE, "3"], ["4"]], str, "1 of 3 whole numbers need over", id="64 bits"),
        pytest.param([[2**64, 1]], str, "1 of 2 whole numbers need over 64 bits", id="of JSON"),
        pytest.param([[LARGE], ["cat"]], str, "", id="text"),
    ],
)
def test_what_is_said_of_a_column(batches, kind, message):
    found = {}
    for values in batches:
        found = merge_digits(found, digits_of({"x": values}, {"x": kind}))
    said = " ".join(digits_lost(found, {"x": kind}))
    assert message in said
    assert bool(said) == bool(message)


def test_columns_that_are_texts_by_the_first_rows_are_not_read_for_their_types(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,text,zip\n1,a,007\n2.5,,008\n")
    plan, _ = ReadCsv(str(path)).plan()
    [table] = plan.tables
    [found] = survey(table, plan.roles)
    assert plan.roles.texts == {"text"}  # a number of many digits would be reported
    assert found.kinds == {"text": str, "x": float, "zip": str}
    batch, _ = table.without(plan.roles.texts).batches()
    assert batch.columns == {"x": ["1", "2.5"], "zip": ["007", "008"]}
