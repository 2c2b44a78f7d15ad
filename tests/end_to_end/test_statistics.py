"""A build's statistics equal those that the trainer computes by reading all values."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from end_to_end.building import build
from kinds_of_learning import training
from tiers import first_in_ci

import trainer
from tfrecord_dataset.json_file import sealed
from trainer.errors import DatasetDamagedError
from trainer.tasks import choose_task
from trainer.tasks.reading import with_statistics


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Records in two splits with numbers of every kind, words and a number to predict."""
    folder = tmp_path_factory.mktemp("statistics")
    random = np.random.default_rng(0)
    rows = [
        {
            "split": "train" if number % 5 else "test",
            "year": 2000 + number % 30,
            "weight": round(random.normal(70, 10), 3),
            "position": random.normal(size=3).round(4).tolist(),
            "ids": random.integers(0, 50, number % 7).tolist(),
            "species": f"kind {number % 3}",
            "price": float(number),
        }
        for number in range(200)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text)
    return trainer.open(build(folder / "rows.jsonl", folder / "data", name="rows").path)


def learned(dataset, target, inputs=None):
    """Return the task with its statistics, and the messages about a pass over the data."""
    task, _ = choose_task(dataset.features, training(target=target, inputs=inputs))
    said = []
    return with_statistics(task, dataset, "train", said.append), said


def values_of(task):
    """Return all statistics of a task by input."""
    parts = [*task.inputs.values(), task.goal]
    return {part.name: dataclasses.asdict(part) for part in parts}


@pytest.mark.parametrize(
    ("target", "inputs"),
    first_in_ci(
        [
            pytest.param("price", ["position"], id="a vector"),
            pytest.param("species", ["position"], id="names as classes"),
            pytest.param("price", ["ids"], id="ids"),
        ]
    ),
)
def test_no_pass_over_the_data_is_needed(dataset, target, inputs):
    without = dataclasses.replace(dataset, read_statistics=dict)
    task, said = learned(dataset, target, inputs)
    expected, lines = learned(without, target, inputs)

    assert said == []
    assert [line[:13] for line in lines] == ["reading 'trai"]
    found, read = values_of(task), values_of(expected)
    assert found.keys() == read.keys()
    for name, facts in found.items():
        for fact, value in facts.items():
            if fact in ("mean", "variance"):
                np.testing.assert_allclose(value, read[name][fact], rtol=1e-6)
            else:
                assert value == read[name][fact], (name, fact)


def test_quantiles_of_columns_need_a_pass(dataset):
    _, said = learned(dataset, "price", ["year", "weight", "position"])
    assert said == ["reading 'train' once for statistics of year, weight"]


def test_statistics_that_are_damaged_are_named(dataset, tmp_path):
    damaged = tmp_path / "1.0.0"
    damaged.mkdir()
    for name in ("metadata.json", "rows-train.tfrecord-00000-of-00001"):
        shutil.copy(f"{dataset.path}/{name}", damaged)
    metadata = json.loads((damaged / "metadata.json").read_text())
    del metadata["splits"]["test"]
    (damaged / "metadata.json").write_text(sealed(metadata))
    assert trainer.open(damaged).statistics("train") == {}
    (damaged / "statistics.json").write_text("{")
    with pytest.raises(DatasetDamagedError, match=r"statistics\.json does not match its sha256"):
        trainer.open(damaged).statistics("train")
