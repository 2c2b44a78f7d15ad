"""Runs on data without a split to validate on."""

import csv
import json

import pytest


@pytest.fixture
def table(directory_of):
    return directory_of("table")


OPTIONS = ("--batch-size", 8, "--seed", 1, "--devices", "cpu")


def test_a_share_is_held_out_and_evaluated(start, table, tmp_path):
    run = tmp_path / "run"
    code, out, err = start("train", "--data", table, "--output", run, "--epochs", 2, *OPTIONS)
    assert code == 0
    assert "validation: 10 % of train, 4 records, by their hashes" in err
    stated = json.loads((run / "config.json").read_text())["options"]
    assert (stated["validation_share"], stated["validation_split"]) == (0.1, None)
    best = json.loads(out)["epoch"]
    with (run / "history.csv").open() as file:
        losses = {int(row["epoch"]): float(row["val_loss"]) for row in csv.DictReader(file)}
    on_share = ("evaluate", "--data", table, "--run", run, "--split", "validation", "--which")
    for which, epoch in (("best", best), ("last", 2)):
        found = json.loads(start(*on_share, which)[1])
        assert found["num_records"] == 4
        assert found["loss"] == pytest.approx(losses[epoch])
    assert json.loads(start("evaluate", "--data", table, "--run", run)[1])["num_records"] == 13


def test_a_run_goes_on_with_the_same_share(start, table, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    share = ("--validation-share", 0.25)
    start("train", "--data", table, "--output", whole, "--epochs", 3, *share, *OPTIONS)
    start("train", "--data", table, "--output", parts, "--epochs", 1, *share, *OPTIONS)
    code, _, err = start("train", "--output", parts, "--resume", "--epochs", 3)
    assert code == 0, err
    assert (parts / "history.csv").read_text() == (whole / "history.csv").read_text()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--validation-split", "none"), 0, ""),
        (("--validation-share", 0), 0, ""),
        (("--validation-split", "test", "--validation-share", 0.1), 2, "give one"),
    ],
)
def test_another_choice(start, table, tmp_path, options, code, message):
    words = ("train", "--data", table, "--output", tmp_path / "run", "--epochs", 1, *OPTIONS)
    found, _, err = start(*words, *options)
    assert (found, "by their hashes" in err) == (code, False)
    assert message in err
