"""`tune`: rates of the stages, bottleneck and remedy."""

import json
import os
import subprocess
import sys

import pytest

from trainer.tuner import as_lines, bound_line, find_bound

LADDER = {"read": 10_000, "parse": 5_000, "decode": 500, "batch": 400}


@pytest.mark.parametrize(
    ("ladder", "stage", "share", "rate"),
    [
        pytest.param(LADDER, "decode", 0.72, 1_429, id="photographs"),
        pytest.param({"read": 100, "batch": 90}, "read", 0.9, 900, id="a slow disk"),
        pytest.param({"read": 100}, "read", 1.0, float("inf"), id="one stage"),
        pytest.param({"read": 100, "parse": 120, "batch": 50}, "read", 0.5, 100, id="noise"),
    ],
)
def test_the_bound(ladder, stage, share, rate):
    found, of_time, rest = find_bound(ladder)

    assert found == stage
    assert of_time == pytest.approx(share, abs=0.005)
    assert rest == pytest.approx(rate, abs=1)


def test_a_stage_that_takes_all_of_the_time_has_no_rate_without_it():
    assert bound_line(*find_bound({"read": 100})) == "read bounds: 100% of the time of a record"
    assert bound_line(*find_bound(LADDER)).endswith("; without it 1,429 records/s")


def test_lines():
    assert as_lines(LADDER)[3].split() == ["decode", "500", "1,800"]


def tune(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "trainer", "tune", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_images_are_measured_stage_by_stage(colors):
    changed = ("--augment", "flip", "--label-smoothing", "0.1")
    size = ("--image-size", "16", "--batch-size", "8")

    found, said = tune(colors, "--seconds", "0.3", *changed, *size)

    stages = ["read", "parse", "decode", "augment", "batch"]
    assert list(found["records_per_s"]) == stages
    assert min(found["records_per_s"].values()) > 0
    assert found["bounds"] in stages
    assert f"{found['bounds']} bounds: " in said
    assert f"Remedy: {found['remedy']}" in said


@pytest.mark.nightly
def test_a_table_is_measured_in_batches(tmp_path, write_records):
    files = tmp_path / "table.tfrecord"
    write_records(files, [{"a": n / 3, "b": n / 7, "label": n % 2} for n in range(64)])

    found, _ = tune(files, "--seconds", "0.2")

    assert list(found["records_per_s"]) == ["read", "parse", "batch"]
