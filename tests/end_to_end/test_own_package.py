"""A package of two files adds a layout, a model and a metric (examples/own_package)."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder in which pip installed the package."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(ROOT / "examples/own_package", folder / "package")
    assert len([*(folder / "package").iterdir()]) == 2
    pip = ("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index")
    words = [sys.executable, *pip, "--target", str(folder / "site"), str(folder / "package")]
    subprocess.run(words, check=True)
    return folder / "site"


@pytest.fixture
def run(site, command):
    """run(module, *words) -> the result of the command with the package installed."""
    path = os.pathsep.join([str(site), str(ROOT)])
    return lambda module, *words: command(
        module, *map(str, words), env={**os.environ, "PYTHONPATH": path}
    )


def write_spots(file, count, seed):
    """Write spots of two classes, which a line divides."""
    points = np.random.default_rng(seed).normal(size=(count, 2))
    file.write_text("".join(f"{x:.3f} {y:.3f} {'ab'[int(x > y)]}\n" for x, y in points))


@pytest.mark.slow
def test_a_dataset_is_built_and_learned_with_its_parts(tmp_path, run):
    folder = tmp_path / "spots"
    folder.mkdir()
    write_spots(folder / "train.spots", 200, 1)
    write_spots(folder / "validation.spots", 60, 2)

    built = run("beam_pipeline", "build", folder, "--output", tmp_path / "data")

    assert built.returncode == 0, built.stderr
    assert "layout: spots" in built.stderr
    data, output = built.stdout.splitlines()[-1], tmp_path / "run"
    words = ("--epochs", "3", "--learning-rate", "0.1", "--seed", "1", "--devices", "cpu")
    own = ("--model", "linear", "--metrics", "brier", "--best-by", "brier")
    trained = run("trainer", "train", "--data", data, "--output", output, *words, *own)

    assert trained.returncode == 0, trained.stderr
    assert "\nlinear: 6 parameters" in trained.stderr
    with (output / "history.csv").open() as file:
        scores = [float(row["val_brier"]) for row in csv.DictReader(file)]
    result = json.loads(trained.stdout)
    assert result["val_brier"] == min(scores)
    assert json.loads((output / "config.json").read_text())["best"] == "brier:min"
    assert "brier, lower is better" in (output / "report.html").read_text()

    evaluated = run("trainer", "evaluate", "--run", output, "--data", data, "--split", "validation")

    assert evaluated.returncode == 0, evaluated.stderr
    assert json.loads(evaluated.stdout)["brier"] == pytest.approx(result["val_brier"], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metrics", "bryer"), "unknown --metrics 'bryer' (did you mean 'brier'?)"),
        (("--metrics", "brier", "--task", "regression"), "--metrics brier is for classification"),
        (("--model", "linaer"), "did you mean 'linear'?"),
    ],
)
def test_parts_that_do_not_suit(tmp_path, run, words, message):
    (tmp_path / "a.csv").write_text("x,label\n" + "".join(f"{n},{n % 2}\n" for n in range(40)))
    built = run("beam_pipeline", "build", tmp_path / "a.csv", "--output", tmp_path / "data")
    data = built.stdout.splitlines()[-1]

    result = run("trainer", "train", "--data", data, "--output", tmp_path / "run", *words)

    assert result.returncode == 2
    assert message in result.stderr
