"""Records as columns, and back."""

import pytest

from beam_pipeline.assign import columns
from beam_pipeline.assign.packing import Packer
from beam_pipeline.batch import rows_of
from beam_pipeline.config import BuildConfig
from beam_pipeline.inspect.record import inspect_elements
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import ClassLabel, Record

FEATURES = {
    "id": [1, -(2**63)],
    "fare": [0.5, float("inf")],
    "city": ["Oslo", ""],
    "label": [ClassLabel("a"), ClassLabel("é")],
}
KEYS = ["t.csv:2", "t.csv:3"]
RECORDS = [
    Record(key=key, source=key, features=dict(zip(FEATURES, values, strict=True)))
    for key, values in zip(KEYS, zip(*FEATURES.values(), strict=True), strict=True)
]


def test_rows_are_the_records_that_they_were_made_of():
    rows = rows_of(KEYS, KEYS, [None, None], FEATURES)
    assert rows is not None
    assert list(rows.records()) == RECORDS


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([1, 2.0], id="of two types"),
        pytest.param([1, None], id="a row without it"),
        pytest.param([(1,), (2,)], id="lists"),
        pytest.param([1, 2**63], id="beyond 64 bits"),
        pytest.param(["a", "\udcff"], id="no UTF-8"),
    ],
)
def test_other_values_are_not_rows(values):
    assert rows_of(KEYS, KEYS, [None, None], {"x": values}) is None


def observed(packed):
    """Return the statistics of each feature's values."""
    return {
        name: (
            feature.types,
            feature.example,
            feature.minimum,
            feature.maximum,
            feature.strings,
            feature.classes,
        )
        for name, feature in packed.statistics.features().items()
    }


def test_rows_are_inspected_and_routed_as_their_records_are():
    rows = rows_of(KEYS, KEYS, [None, None], FEATURES)
    packer = Packer(BuildConfig(name="t", split={"train": 0.5, "test": 0.5}))
    one, other = (
        packer.pack(inspect_elements(elements, Rules())) for elements in ([rows], RECORDS)
    )
    routes = [name for name in columns.SCHEMA.names if name not in ("record", "digest")]
    tables = [columns.from_bytes([each.records]) for each in (one, other)]
    assert tables[0].select(routes).equals(tables[1].select(routes))
    assert list(columns.records_of(tables[0], 0)) == list(columns.records_of(tables[1], 0))
    assert observed(one) == observed(other)
