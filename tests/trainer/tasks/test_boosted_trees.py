"""Boosted trees as a reference for tables."""

import functools

import numpy as np
import pytest
from kinds_of_learning import training

import trainer
from trainer.tasks import boosted_trees, choose_task
from trainer.tasks.reading import with_statistics
from trainer.tasks.table_columns import sample_columns

FLOAT, TEXT = {"kind": "scalar", "dtype": "float32"}, {"kind": "text"}
LABEL = {"kind": "class_label", "classes": ["a", "b", "c"]}
RNG = np.random.default_rng(5)
X = RNG.normal(size=300)
KIND = RNG.integers(0, 3, 300)
BY_KIND = np.array([5.0, -5.0, 1.0])[KIND]


@pytest.mark.parametrize(
    ("target", "values", "metric", "least", "most"),
    [
        pytest.param(FLOAT, BY_KIND + (X > 0), "mae", 0, 0.2, id="a number"),
        pytest.param(LABEL, 1 * (X > 0) + (KIND == 1), "accuracy", 0.9, 1, id="classes"),
        pytest.param(LABEL, np.where(np.arange(300) == 5, 2, X > 0), "accuracy", 0.9, 1, id="rare"),
    ],
)
@pytest.mark.usefixtures("scikit_learn")
def test_trees_learn_steps_of_numbers_and_categories(
    write_dataset, tmp_path, target, values, metric, least, most
):
    gaps = np.where(np.arange(300) % 50 == 7, np.nan, X)
    kinds = [f"kind {each}".encode() for each in KIND]
    columns = {"x": (FLOAT, gaps.tolist()), "k": (TEXT, kinds), "y": (target, values.tolist())}
    features = [{"name": name, "key": name, **each} for name, (each, _) in columns.items()]
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*(values for _, values in columns.values()), strict=True)
    ]
    splits = {"train": rows[:200], "test": rows[200:]}
    dataset = trainer.open(write_dataset(tmp_path / "data" / "1.0.0", features, splits))
    sampled = functools.partial(sample_columns, dataset, "train")
    task, _ = choose_task(dataset.features, training(target="y"), sampled)
    task = with_statistics(task, dataset, "train", lambda line: None)

    assert boosted_trees.are_possible(task)
    result, line = boosted_trees.reference(task, dataset, "train", "test")

    assert [*result] == [f"boosted_trees_{metric}"]
    assert least <= result[f"boosted_trees_{metric}"] <= most
    assert line.startswith(f"boosted trees: {metric} ")
