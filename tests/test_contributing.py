"""The diffs of CONTRIBUTING.md apply to a copy of the packages, and do what the page says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYOUT, OPTION, POLICY, CLUSTER_OPTION, KIND, MODEL, METRIC, TARGET = re.findall(
    r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
)


@pytest.fixture
def changed(tmp_path):
    """changed(diff, words) -> what Python prints for the words with the diff applied."""

    def run(diff, *words):
        for package in ("beam_pipeline", "tfrecord_dataset", "trainer"):
            shutil.copytree(ROOT / package, tmp_path / package)
        subprocess.run(
            ["git", "apply", "-p1", "-C1"], cwd=tmp_path, input=diff, text=True, check=True
        )
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.slow
def test_a_layout(changed, tmp_path, write_image):
    write_image(tmp_path / "in/images/1.png")
    (tmp_path / "in/corners").mkdir()
    (tmp_path / "in/corners/1.txt").write_text("cat 1 1 5 5\n")
    printed = changed(LAYOUT, "-m", "beam_pipeline", "plan", "in")
    assert "layout: corners" in printed
    assert "feature boxes: boxes, 1 class" in printed


@pytest.mark.slow
def test_an_option(changed):
    assert "--note NOTE" in changed(OPTION, "-m", "beam_pipeline", "build", "--help-all")


@pytest.mark.slow
def test_a_policy(changed, tmp_path, write_image):
    write_image(tmp_path / "in/1.png", size=(8, 8))
    boxes = [[5, 0, 5, 8], [6, 0, 9, 8]]  # three fifths and two ninths are in the image
    found = [
        {"id": at, "image_id": 1, "category_id": 1, "bbox": box} for at, box in enumerate(boxes)
    ]
    document = {
        "images": [{"id": 1, "file_name": "1.png"}],
        "annotations": found,
        "categories": [{"id": 1, "name": "cat"}],
    }
    (tmp_path / "in/a.json").write_text(json.dumps(document))
    (tmp_path / "recipe.yaml").write_text("input: in\nbox_policy: half\n")
    printed = changed(POLICY, "-m", "beam_pipeline", "plan", "recipe.yaml")
    assert "changed: 1 × box clipped, 1 × box dropped: outside\n" in printed


@pytest.mark.slow
def test_an_option_of_a_cluster(changed):
    prepare = """
from apache_beam.options.pipeline_options import FlinkRunnerOptions, PipelineOptions
from beam_pipeline.running.remote.flink import FlinkCluster
options = PipelineOptions(["--flink_master=[local]", "--job_endpoint=embed"])
FlinkCluster(options).prepare("out", [])
print(options.view_as(FlinkRunnerOptions).max_parallelism)
"""
    assert changed(CLUSTER_OPTION, "-c", prepare).startswith("128\n")


@pytest.mark.slow
def test_a_kind(changed):
    build = """
import datetime
import apache_beam as beam
import beam_pipeline, tfrecord_dataset
took = datetime.timedelta(minutes=1.5)
source = beam.Create([beam_pipeline.Record(key="a", features={"took": took})])
beam_pipeline.build(output="out", name="t", source=source)
print([float(record["took"]) for record in tfrecord_dataset.open("out/t")["train"]])
"""
    assert "[90.0]" in changed(KIND, "-c", build)


# Builds a table, and trains on it with the options that follow.
TRAIN = """
import json, sys
import beam_pipeline, trainer
rows = "".join(f"{n},{n % 7},{'ab'[n % 2]}\\n" for n in range(60))
open("t.csv", "w").write("x,y,label\\n" + rows)
beam_pipeline.build(input="t.csv", output="data", name="t")
options = json.loads(sys.argv[1])
row = trainer.train("data/t", "run", epochs=2, devices="cpu", **options)
print(json.dumps(row))
print(json.load(open("run/config.json"))["best"])
"""


@pytest.mark.slow
def test_a_model(changed):
    printed = changed(MODEL, "-c", TRAIN, json.dumps({"model": "linear"}))
    assert "\nlinear: " in printed


@pytest.mark.slow
def test_a_metric(changed):
    printed = changed(METRIC, "-c", TRAIN, json.dumps({"best_by": "brier"}))
    assert '"val_brier": ' in printed
    assert "\nbrier:min\n" in printed


@pytest.mark.slow
def test_a_target(changed, tmp_path):
    assert '"val_accuracy": ' in changed(TARGET, "-c", TRAIN, json.dumps({"task": "ordinal"}))
    assert '"kind": "ordinal"' in (tmp_path / "run/task.json").read_text()
