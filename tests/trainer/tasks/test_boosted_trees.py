"""Boosted trees as a reference for tables."""

import numpy as np
import pytest
from kinds_of_learning import table_of, task_of_table
from tiers import first_in_ci

import trainer
from trainer.tasks import boosted_trees

FLOAT, TEXT = {"kind": "scalar", "dtype": "float32"}, {"kind": "text"}
LABEL = {"kind": "class_label", "classes": ["a", "b", "c"]}
RNG = np.random.default_rng(5)
X = RNG.normal(size=300)
KIND = RNG.integers(0, 3, 300)
BY_KIND = np.array([5.0, -5.0, 1.0])[KIND]


@pytest.mark.parametrize(
    ("target", "values", "metric", "least", "most"),
    first_in_ci(
        [
            pytest.param(FLOAT, BY_KIND + (X > 0), "mae", 0, 0.2, id="a number"),
            pytest.param(LABEL, 1 * (X > 0) + (KIND == 1), "accuracy", 0.9, 1, id="classes"),
            pytest.param(
                LABEL, np.where(np.arange(300) == 5, 2, X > 0), "accuracy", 0.9, 1, id="rare"
            ),
        ]
    ),
)
@pytest.mark.usefixtures("scikit_learn")
def test_trees_learn_steps_of_numbers_and_categories(
    write_dataset, tmp_path, target, values, metric, least, most
):
    gaps = np.where(np.arange(300) % 50 == 7, np.nan, X)
    kinds = [f"kind {each}".encode() for each in KIND]
    columns = {"x": (FLOAT, gaps.tolist()), "k": (TEXT, kinds), "y": (target, values.tolist())}
    folder = write_dataset(tmp_path / "data" / "1.0.0", *table_of(columns, train=200, test=100))
    dataset = trainer.open(folder)
    task, _ = task_of_table(dataset, target="y")

    assert boosted_trees.are_possible(task)
    result, line = boosted_trees.reference(task, dataset, "train", "test")

    assert [*result] == [f"boosted_trees_{metric}"]
    assert least <= result[f"boosted_trees_{metric}"] <= most
    assert line.startswith(f"boosted trees: {metric} ")
