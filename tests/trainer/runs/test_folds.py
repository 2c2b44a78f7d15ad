"""`train --folds`: a run for each fold, and a run that averages them."""

import json

import keras
import numpy as np
import pytest
from tiers import first_in_ci

import trainer

SHORT = ("--epochs", "2", "--batch-size", "8", "--seed", "1", "--devices", "cpu", "--quiet")


@pytest.fixture
def train(start, tmp_path, directory_of):
    """A function (kind, more options) to (exit code, result, stderr); the run is in tmp_path."""

    def run(kind, *more):
        where = ("--data", directory_of(kind), "--output", tmp_path / "run")
        code, out, err = start("train", *map(str, where), *SHORT, *more)
        return code, json.loads(out or "{}"), err

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "more", "key"),
    first_in_ci(
        [
            pytest.param("text", (), "probabilities", id="a class, of words"),
            pytest.param("several labels", (), "probabilities", id="any number of classes"),
            pytest.param(
                "table", ("--task", "regression", "--target", "age"), "prediction", id="age"
            ),
        ]
    ),
)
def test_the_model_is_the_mean_of_the_folds(kind, more, key, train, start, directory_of, tmp_path):
    code, result, said = train(kind, "--folds", "3", *more)

    assert code == 0, said
    runs = [tmp_path / "run", *(tmp_path / f"run/fold-{fold}" for fold in (1, 2, 3))]
    whole, *folds = [*map(trainer.open_run, map(str, runs))]
    losses = [run.metrics["val_loss"] for run in folds]
    assert result["val_loss"] == pytest.approx(np.mean(losses)) == whole.metrics["val_loss"]
    assert result["val_loss_std"] == pytest.approx(np.std(losses, ddof=1)) != 0

    def predicted(run):
        rows = trainer.predict(run, directory_of(kind), split="test")
        return np.array(
            [[*row[key].values()] if key == "probabilities" else row[key] for row in rows]
        )

    means = np.mean([predicted(run) for run in folds], axis=0)
    np.testing.assert_allclose(predicted(whole), means, rtol=1e-4, atol=1e-5)
    assert not np.allclose(predicted(folds[0]), means, rtol=1e-2)
    keras.models.load_model(tmp_path / "run/model.keras", compile=False)  # without this package

    before = (tmp_path / "run/fold-2/model.keras").read_bytes()
    assert train(kind, "--folds", "3", *more)[1] == result
    code, out, said = start("train", "--output", tmp_path / "run", "--resume", "--quiet")
    assert (code, json.loads(out or "{}")) == (0, result), said
    assert (tmp_path / "run/fold-2/model.keras").read_bytes() == before


@pytest.mark.nightly
def test_one_fold_is_that_of_all(train, directory_of, tmp_path):
    assert train("table", "--folds", "3", "--fold", "2")[0] == 0
    single = trainer.open_run(str(tmp_path / "run")).metrics
    (tmp_path / "run").rename(tmp_path / "single")
    train("table", "--folds", "3")
    fold = str(tmp_path / "run/fold-2")
    assert single == trainer.open_run(fold).metrics

    found = trainer.evaluate(fold, directory_of("table"), split="validation")
    assert found["loss"] == pytest.approx(single["val_loss"])
