"""Hostile files among good ones, through the command line: named, and all else is built."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_files import jpeg_of_scans


def built(source: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "beam_pipeline", "build", str(source), "--output", str(output)]
    return subprocess.run([*command, "--name", "d", *options], capture_output=True, text=True)


def rejects(output: Path) -> dict[str, str]:
    lines = (output / "d/1.0.0/rejects.jsonl").read_text().splitlines()
    return {each["source"]: each["reason"] for each in map(json.loads, lines)}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(), ("--threads", "2")], ids=["processes", "threads"])
def test_a_slow_image_costs_itself_alone(class_folders, tmp_path, threads):
    source = class_folders(tmp_path / "in", each=300)
    options = ("--max-bad-fraction", "0.5", "--num-shards", "2", *threads)
    (source / "cat/000slow.jpg").write_bytes(jpeg_of_scans(85))
    whole = built(source, tmp_path / "whole", *options)
    assert whole.returncode == 0, whole.stderr
    assert rejects(tmp_path / "whole") == {}

    recipe = tmp_path / "impatient.yaml"
    recipe.write_text("input: in\nname: d\nmax_record_seconds: 0.1\n")
    done = built(recipe, tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert rejects(tmp_path / "out") == {"cat/000slow.jpg": "took too long"}
    metadata = json.loads((tmp_path / "out/d/1.0.0/metadata.json").read_text())
    assert metadata["splits"]["train"]["num_records"] == 600
