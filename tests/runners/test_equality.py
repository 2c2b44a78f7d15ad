"""Beam's other runners build byte for byte what the local one builds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from runners.conftest import SPARK_JAR

ROOT = Path(__file__).parents[2]
BLOOD = ROOT / "examples/data/blood"
BAD = "1 of 2001 records invalid (limit: 0)"


@pytest.fixture
def build(tmp_path):
    """build(input, output, *options) -> the completed process of the command."""

    def run(source, output, *options):
        line = [sys.executable, "-m", "beam_pipeline", "build", str(source)]
        line += ["--output", str(tmp_path / output), *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture
def options(request, job_service):
    """Beam's options for the runner under test."""
    match request.param:
        case "spark":
            return ("--runner=SparkRunner", f"--spark_job_server_jar={SPARK_JAR}")
        case "embedded":
            return ("--runner=PortableRunner", "--job_endpoint=embed")
        case kind:
            address = job_service(kind.removesuffix(" job service"))
            return ("--runner=PortableRunner", f"--job_endpoint={address}")


OTHERS = ("embedded", "python job service", "spark job service")


def nightly(runner):
    return pytest.param(runner, marks=pytest.mark.nightly)


@pytest.mark.parametrize("options", ["spark", *map(nightly, OTHERS)], indirect=True)
def test_images_with_boxes(options, build, tmp_path, digests):
    there = build(BLOOD, "there", "--num-shards=3", *options)
    here = build(BLOOD, "here", "--num-shards=3")

    assert there.returncode == 0, there.stderr
    assert there.stdout == f"{tmp_path}/there/blood/1.0.0\n"
    assert digests(tmp_path / "there") == digests(tmp_path / "here"), here.stderr


@pytest.fixture
def uneven(tmp_path):
    """Three class folders with 30, 10 and 5 images."""
    for label, count in (("red", 30), ("white", 10), ("rare", 5)):
        (tmp_path / "uneven" / label).mkdir(parents=True)
        for number in range(count):
            pixels = np.random.default_rng([count, number]).integers(0, 256, (8, 8, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "uneven" / label / f"{number}.png")
    return tmp_path / "uneven"


@pytest.mark.nightly
@pytest.mark.parametrize("options", ["spark", *map(nightly, OTHERS)], indirect=True)
def test_splits_stratified_by_class(options, build, uneven, tmp_path, digests):
    splits = ("--split", "train=0.8,test=0.2", "--num-shards=3")
    there = build(uneven, "there", *splits, *options)
    here = build(uneven, "here", *splits)

    assert there.returncode == 0, there.stderr
    assert digests(tmp_path / "there") == digests(tmp_path / "here"), here.stderr
    assert "test: 9 records" in there.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("options", OTHERS, indirect=True)
def test_a_table_with_a_reject(options, build, table, tmp_path, digests):
    """One bad row fails the build with the local message, or is left out."""
    refused = build(table, "there", *options)
    assert refused.returncode == 3, refused.stderr
    assert BAD in refused.stderr
    assert "Traceback" not in refused.stderr

    accept = ("--max-bad-fraction=0.1", "--num-shards=8")
    there = build(table, "there", *accept, *options)
    here = build(table, "here", *accept)
    assert there.returncode == 0, there.stderr
    assert digests(tmp_path / "there") == digests(tmp_path / "here"), here.stderr
