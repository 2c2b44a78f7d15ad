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
        pytest.param("weights.json", {"a,b": 3.0}, id="file"),
    ],
)
def test_weights_are_read(text, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.json").write_text('{"a,b": 3}')

    assert read_weights(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a=-1", "'-1' of 'a' is not a weight", id="negative"),
        pytest.param("a=x", "'x' of 'a' is not a weight", id="no number"),
        pytest.param("balance", "give balanced, weights such as", id="no such file"),
        pytest.param("list.json", "cannot be used: it holds a list of 2, not an", id="a list"),
        pytest.param("folder", "cannot be used: it cannot be read: Is a directory", id="a folder"),
    ],
)
def test_other_weights_are_refused(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "folder").mkdir()

    with pytest.raises(ConfigError, match=message):
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
