"""The commands from end to end: output, files and exit codes."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from trainer.commands import as_json, main
from trainer.runs.directory import RunDirectory
from trainer.runs.run_page import report_of

STEPS = "--batch-size 8 --epochs 2 --steps-per-epoch 5 --learning-rate 0.01 --optimizer sgd"


def options(data, run, *more):
    return [
        *("train", "--data", str(data), "--output", str(run), "--image-size", "16"),
        *(*STEPS.split(), "--devices", "cpu:2", "--seed", "4", *more),
    ]


@pytest.fixture(scope="module")
def finished(colors, tmp_path_factory):
    """A deterministic run of two epochs in its own process."""
    run = tmp_path_factory.mktemp("runs") / "finished"
    done = subprocess.run(
        [sys.executable, "-m", "trainer", *options(colors, run, "--deterministic")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return run, done


def rows_of(run):
    return RunDirectory(str(run)).read_history()


@pytest.mark.slow
def test_train_leaves_a_run(finished):
    run, _ = finished

    names = {file.name for file in run.iterdir()}
    assert names == {
        *("config.json", "task.json", "history.csv", "model.keras", "last.keras"),
        *("checkpoints", "logs", "report.html"),
    }
    page = (run / "report.html").read_text()
    assert " on validation, best at epoch " in page
    assert page.count("data:image/jpeg") > 4
    assert all(f'id="{section}"' in page for section in ("curves", "batch", "classes"))
    assert list((run / "logs" / "train").iterdir())
    assert list((run / "logs" / "validation").iterdir())
    written = json.loads((run / "config.json").read_text())
    assert written["options"]["seed"] == 4
    assert written["classes"] == ["blue", "green", "red"]

    rows = rows_of(run)
    assert list(rows[0]) == [
        *("epoch", "step", "loss", "accuracy", "val_loss", "val_accuracy", "val_auc"),
        *("val_macro_f1", "val_balanced_accuracy", "val_baseline_accuracy"),
    ]
    assert "trivial guess" in page
    assert [row["epoch"] for row in rows] == [1, 2]
    assert rows[1]["loss"] < rows[0]["loss"]


@pytest.mark.slow
def test_train_prints_the_best_metrics_and_says_the_rest_on_stderr(finished):
    run, done = finished

    (line,) = done.stdout.splitlines()
    best = max(rows_of(run), key=lambda row: (row["val_accuracy"], -row["val_loss"]))
    assert json.loads(line) == best
    assert f" on validation, best at epoch {best['epoch']:g} of 2" in done.stderr
    assert "\nalways guessing " in done.stderr
    assert "val_baseline" not in done.stderr
    assert "task classification: from image (image) to label (class_label)" in done.stderr
    assert "2 replicas," in done.stderr
    assert "epoch 2: loss" in done.stderr
    assert "Warning" not in done.stderr
    assert done.stderr.startswith("task ")  # no messages of TensorFlow


def test_a_page_links_to_the_report_of_a_local_dataset(tmp_path):
    data, run = tmp_path / "new cells" / "1.0.0", tmp_path / "runs" / "first"
    assert report_of(SimpleNamespace(path="s3://bucket/cells/1.0.0"), run) == ""
    assert report_of(SimpleNamespace(path=data), run) == ""
    data.mkdir(parents=True)
    (data / "report.html").touch()
    assert report_of(SimpleNamespace(path=data), run) == "../../new%20cells/1.0.0/report.html"


@pytest.mark.slow
def test_evaluate_prints_the_metrics_of_a_split(finished, colors, tmp_path, capsys, monkeypatch):
    run, done = finished
    arguments = ["evaluate", "--data", str(colors), "--run", str(run), "--devices", "cpu:2"]
    page = tmp_path / "validation.html"

    assert main([*arguments, "--split", "validation", "--report", str(page)]) == 0
    assert "Split validation." in page.read_text()
    assert 'id="curves"' not in page.read_text()
    result = json.loads(capsys.readouterr().out)
    last = json.loads(done.stdout)
    assert result["num_records"] == 13
    assert result["loss"] == pytest.approx(last["val_loss"], abs=1e-5)

    assert main([*arguments, "--which", "last", "--batch-size", "4"]) == 0
    assert json.loads(capsys.readouterr().out)["num_records"] == 7  # of the test split

    # The run knows its dataset, and the split is that of the tests.
    assert main(["evaluate", "--run", str(run), "--devices", "cpu:2"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["num_records"] == 7
    assert f"dataset: {colors}, that of the run (--data)" in printed.err
    assert "the 7 records of 'test' (--split)" in printed.err

    # A terminal shows JSON only if asked.
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(arguments) == 0
    assert capsys.readouterr().out == ""
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_records"] == 7


@pytest.mark.slow
def test_resuming_what_is_done_prints_it_again(finished, colors, tmp_path, capsys):
    run = shutil.copytree(finished[0], tmp_path / "run")

    assert main(options(colors, run, "--resume")) == 0

    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads(finished[1].stdout)
    assert "raise --epochs" in captured.err


@pytest.mark.slow
def test_the_step_that_diverges_is_named(colors, tmp_path, capsys):
    """At this rate, the first update makes the second step's loss diverge."""
    more = ("--learning-rate", "1e38", "--warmup-steps", "0", "--devices", "cpu")
    assert main(options(colors, tmp_path / "run", *more)) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the loss of step 2 (epoch 1) is ")
    assert line.endswith("; lower --learning-rate, or clip with --clip-norm 1")


def test_metrics_that_are_not_finite_are_still_json():
    text = as_json({"epoch": 2, "loss": float("nan"), "mse": float("inf"), "accuracy": 0.5})

    assert text == '{"epoch": 2, "loss": null, "mse": null, "accuracy": 0.5}'
