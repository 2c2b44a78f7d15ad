"""What waits lies in a file without a name; on other machines in the elements themselves."""

import os
import pickle

import pytest

from beam_pipeline.running.spill import NOT_SPILLED, spilling

TABLES = [b"one", b"", bytes(3 << 20)]


@pytest.mark.parametrize("spilled", [True, False])
def test_what_is_put_is_got_in_any_order_any_number_of_times(tmp_path, spilled):
    with spilling(str(tmp_path)) as file:
        spill = pickle.loads(pickle.dumps(file if spilled else NOT_SPILLED))
        elements = list(map(spill.put, TABLES))
        assert [spill.get(each) for each in reversed(elements)] == TABLES[::-1]
        tables = spill.all(elements)
        assert list(tables) == list(tables) == TABLES
        assert not os.listdir(tmp_path)


def test_elements_of_spilled_tables_are_small(tmp_path):
    with spilling(str(tmp_path)) as spill:
        assert {len(spill.put(table)) for table in TABLES} == {16}
