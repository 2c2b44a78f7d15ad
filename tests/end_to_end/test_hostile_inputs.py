"""Hostile files among good ones are named by the command, and all others are built."""

import json

import pytest
from file_bytes import zip_bytes
from hostile_files import jpeg_of_scans


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(), ("--threads", "2")], ids=["processes", "threads"])
def test_a_slow_image_costs_only_itself(class_folders, command, tmp_path, threads):
    source = class_folders(tmp_path / "in", each=300)
    (source / "cat/000slow.jpg").write_bytes(jpeg_of_scans(85))
    recipe = tmp_path / "impatient.yaml"
    recipe.write_text("input: in\nname: d\nmax_record_seconds: 0.1\n")
    options = ("--output", tmp_path / "out", "--max-bad-fraction", "0.5", "--num-shards", "2")
    done = command("beam_pipeline", "build", recipe, *options, *threads)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = (tmp_path / "out/d/1.0.0/rejects.jsonl").read_text().splitlines()
    reject = json.loads(line)
    assert (reject["source"], reject["reason"]) == ("cat/000slow.jpg", "took too long")
    metadata = json.loads((tmp_path / "out/d/1.0.0/metadata.json").read_text())
    assert metadata["splits"]["train"]["num_records"] == 600


@pytest.mark.slow
def test_a_zip_of_300_000_empty_members_is_refused_by_name(command, tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes({f"a/{n}.jpg": b"" for n in range(300_000)}))
    options = ("--one-class", "--output", tmp_path / "out")
    done = command("beam_pipeline", "build", tmp_path / "x.zip", *options)
    assert done.returncode == 3, done.stderr
    assert "300000 of 300000 records invalid (limit: 0); first: a/0.jpg: empty" in done.stderr
