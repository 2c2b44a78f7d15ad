"""Statistics of the train split equal NumPy's over all of it, for any batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trainer.errors import ConfigError
from trainer.tasks.statistics import MAX_CLASSES, Largest, MeanVariance, Strings

NUMBERS = st.floats(-1e6, 1e6, width=32)


def result(statistic, batches):
    for batch in batches:
        statistic.add(np.array(batch))
    return statistic.result()


@given(
    st.lists(
        st.integers(0, 6).flatmap(lambda n: arrays(np.float32, (n, 2), elements=NUMBERS)),
        min_size=1,
    )
)
def test_moments_are_those_of_all_batches_together(batches):
    found = result(MeanVariance("x", 2), batches)

    rows = np.concatenate(batches).astype(np.float64)
    expected = rows.var(axis=0) if len(rows) else np.zeros(2)
    mean = rows.mean(axis=0) if len(rows) else np.zeros(2)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-9, atol=1e-6)
    varies = expected > 1e-6
    np.testing.assert_allclose(np.array(found["variance"])[varies], expected[varies], rtol=1e-6)


@pytest.mark.parametrize(
    ("batches", "mean", "variance"),
    [
        pytest.param(
            [[1e9 + n % 2] for n in range(100)], (1e9 + 0.5,), (0.25,), id="no cancelling"
        ),
        pytest.param(
            [[[3, 1], [3, 2]]], (3, 1.5), (1, 0.25), id="what never varies stays as it is"
        ),
        pytest.param([np.full(700, 0.1)] * 3, (0.1,), (1,), id="rounding is no variance"),
    ],
)
def test_moments_of_columns_that_vary_little(batches, mean, variance):
    found = result(MeanVariance("x", len(mean)), batches)

    assert found == {"mean": pytest.approx(mean), "variance": pytest.approx(variance)}


@pytest.mark.parametrize("size", [1, 7, 100])
def test_moments_of_what_is_not_missing(size):
    rows = np.random.default_rng(1).normal(50, 3, [100, 4])
    rows[::3, 1] = np.nan
    rows[:60, 2] = np.nan

    batches = [rows[start : start + size] for start in range(0, 100, size)]
    found = result(MeanVariance("x", 4, allow_missing=True), batches)

    np.testing.assert_allclose(found["mean"], np.nanmean(rows, axis=0))
    np.testing.assert_allclose(found["variance"], np.nanvar(rows, axis=0))
    assert found["missing"] == (0, 34, 60, 0)


MISSING = {"allow_missing": True, "remedy": "name another"}


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        pytest.param([[1], [np.nan]], {}, "'x' is nan.*--inputs", id="NaN"),
        pytest.param([[1], [np.inf]], {}, "'x' is inf.*--inputs", id="infinity"),
        pytest.param([[np.nan], [np.inf]], MISSING, "'x' is inf, .* or name another", id="in gaps"),
        pytest.param([[np.nan], [-1e39]], MISSING, r"'x' is -1e\+39", id="beyond float32"),
        pytest.param([[np.nan]] * 2, MISSING, r"'x' is missing \(NaN\) in every", id="no number"),
        pytest.param([[1, np.nan]] * 2, MISSING, r"'x' \(column 1\) is missing", id="a column"),
    ],
)
def test_numbers_of_which_no_model_learns(rows, options, said):
    with pytest.raises(ConfigError, match=said):
        result(MeanVariance("x", len(rows[0]), **options), [rows])


@pytest.mark.parametrize(
    ("batches", "least", "expected"),
    [
        pytest.param([[3, 1], [], [2]], 0, 3, id="largest"),
        pytest.param([], 0, -1, id="none at all"),
        pytest.param([[-1, 0]], -1, 0, id="-1 says that there is none"),
        pytest.param([[-1, 0]], 0, "'id' is -1, .* or do better", id="negative"),
        pytest.param([[9], [10]], 0, "'id' is 10, but must be less than 10; do better", id="limit"),
    ],
)
def test_largest(batches, least, expected):
    largest = Largest("id", "num_ids", limit=10, remedy="do better", least=least)
    batches = [np.array(batch, np.int64) for batch in batches]

    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=expected):
            result(largest, batches)
    else:
        assert result(largest, batches) == {"num_ids": expected + 1}


TOO_MANY = [str(number).encode() for number in range(MAX_CLASSES + 1)]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        pytest.param([[b"b", "ä".encode()], [b"b", b"B"]], ("B", "b", "ä"), id="in order"),
        pytest.param([[b"caf\xe9"]], "'name' of a record is not UTF-8.*--target", id="no text"),
        pytest.param([TOO_MANY], f"more than {MAX_CLASSES} distinct", id="too many"),
    ],
)
def test_distinct_strings(batches, expected):
    distinct = Strings("name", "classes")

    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=expected):
            result(distinct, batches)
    else:
        assert result(distinct, batches) == {"classes": expected}
