"""`tune`, and a training with what it wrote."""

import json
import os
import subprocess
import sys

import pytest


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "trainer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_a_training_takes_what_was_tuned(colors, tmp_path):
    tuning = tmp_path / "tuning.json"
    options = ("--image-size", "16", "--batch-size", "8")

    changed = ("--augment", "flip", "--mixup", "0.2", "--sampling", "balanced")
    tuned = run("tune", colors, "--output", tuning, "--seconds", "0.3", *changed, *options)

    assert tuned.returncode == 0, tuned.stderr
    found = json.loads(tuned.stdout)
    stages = ["read", "parse", "decode", "augment", "batch", "batch, memory"]
    assert list(found["records_per_s"]) == stages
    assert min(found["records_per_s"].values()) > 0
    assert found["bounds"] in stages
    assert f"{found['bounds']} bounds: " in tuned.stderr
    assert all(
        each["text"].startswith(("train --cache memory", "build ")) for each in found["tried"]
    )
    assert "Remedy: " in tuned.stderr
    assert json.loads(tuning.read_text()) == found["tuning"]

    tuning.write_text('{"parallel_calls": 1, "prefetch": 1, "cycle_length": 2, "cache": "memory"}')
    common = ("--data", colors, "--epochs", "2", "--seed", "1", "--deterministic", *options)
    plain = run("train", "--output", tmp_path / "plain", "--cache", "none", *common)
    other = run("train", "--output", tmp_path / "other", "--tuning", tuning, *common)
    assert plain.returncode == other.returncode == 0, plain.stderr + other.stderr
    assert "decoded images are kept in memory" in other.stderr
    assert "decoded images" not in plain.stderr
    history = (tmp_path / "plain" / "history.csv").read_bytes()
    assert (tmp_path / "other" / "history.csv").read_bytes() == history


@pytest.mark.slow
def test_a_table_is_measured_in_batches(tmp_path, write_records):
    files = tmp_path / "table.tfrecord"
    write_records(files, [{"a": n / 3, "b": n / 7, "label": n % 2} for n in range(64)])

    tuned = run("tune", files, "--output", tmp_path / "t.json", "--seconds", "0.2")

    assert tuned.returncode == 0, tuned.stderr
    assert list(json.loads(tuned.stdout)["records_per_s"]) == ["read", "parse", "batch"]
