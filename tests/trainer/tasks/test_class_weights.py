"""Weights of classes, as the option writes them and as they balance the loss."""

import pytest

from trainer.errors import ConfigError
from trainer.tasks.class_weights import balanced, read_weights


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("balanced", None, id="balanced"),
        pytest.param("WBC=2, RBC=0.5", {"WBC": 2.0, "RBC": 0.5}, id="pairs"),
        pytest.param("a=b=2", {"a=b": 2.0}, id="a name with a sign"),
    ],
)
def test_weights_are_read(text, expected):
    assert read_weights(text) == expected


@pytest.mark.parametrize("text", ["a=-1", "a=x", "a=nan", "b=1,a=", "balance", "=2"])
def test_other_weights_are_refused(text):
    with pytest.raises(ConfigError, match="is not a class with a weight from 0; give balanced"):
        read_weights(text)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param([10, 10], [1, 1], id="even"),
        pytest.param([30, 10], [2 / 3, 2], id="uneven"),
        pytest.param([30, 0, 10], [2 / 3, 1, 2], id="a class without records"),
    ],
)
def test_balanced_weights_sum_to_the_records(counts, expected):
    weights = balanced(counts)

    assert weights == pytest.approx(expected)
    assert sum(a * b for a, b in zip(counts, weights, strict=True)) == pytest.approx(sum(counts))
