"""Boxes to a trained detector, by the commands."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from beam_pipeline.cli import commands

BLOOD = Path(__file__).parents[2] / "examples/data/blood"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A dataset of 40 blood smears with boxes of three classes."""
    folder = tmp_path_factory.mktemp("blood")
    assert commands.main(["build", str(BLOOD), "--output", str(folder)]) == 0
    return str(folder / "blood/1.0.0")


def train(command, data, run, *options):
    done = command(
        *("trainer", "train", "--data", data, "--output", run, "--image-size", "96x64"),
        *("--batch-size", 8, "--seed", 3, *options),
        cwd=Path(data),
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_boxes_choose_the_detector_and_evaluate_gives_map(data, command, tmp_path):
    done = train(command, data, tmp_path / "run", "--epochs", 1, "--devices", "cpu:2")
    row = json.loads(done.stdout.splitlines()[-1])

    assert "task detection: from image (image) to boxes (boxes) of 3 classes" in done.stderr
    assert {"loss", "val_loss", "val_mAP", "val_mAP50", "val_mAP75"} <= set(row)
    page = (tmp_path / "run/report.html").read_text()
    assert all(text in page for text in ("F1 by least score", "By size", ">predicted</span>"))

    done = command(
        *("trainer", "evaluate", "--data", data, "--run", tmp_path / "run"), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    metrics = {"loss", "mAP", "mAP50", "mAP75", "F1", "min_score"}
    assert metrics | {"baseline_mAP50", "num_records"} == set(result)
    assert np.isfinite(list(result.values())).all()


@pytest.mark.slow
def test_replicas_learn_what_one_learns(data, command, tmp_path):
    """6 steps: replicas have another number of boxes each."""
    weights = {}
    for replicas in (1, 2):
        run = tmp_path / f"{replicas}"
        steps = ("--epochs", 1, "--steps-per-epoch", 6, "--validation-split", "none")
        # At a rate of 1e-3 rounding of 1e-8 after ten steps grows to 3e-5 after fifty.
        optimizer = ("--optimizer", "sgd", "--learning-rate", 0.0001, "--clip-norm", 1)
        how = ("--devices", f"cpu:{replicas}")
        train(command, data, run, *steps, *optimizer, *how)
        model = keras.models.load_model(run / "model.keras", compile=False)
        weights[replicas] = np.concatenate([np.ravel(each) for each in model.get_weights()])

    one, two = weights.values()
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-5)


@pytest.mark.nightly
def test_blood_cells_are_found(data, command, tmp_path):
    """The commands of docs/detection.md, which states 0.68."""
    run = tmp_path / "run"
    done = command(
        *("trainer", "train", "--data", data, "--output", run, "--image-size", "256x192"),
        *("--batch-size", 8, "--epochs", 6, "--steps-per-epoch", 50, "--seed", 0),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr

    done = command("trainer", "evaluate", "--data", data, "--run", run, "--split", "test")

    assert json.loads(done.stdout.splitlines()[-1])["mAP50"] > 0.6
