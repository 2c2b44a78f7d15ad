"""Builds killed with SIGKILL at many moments: what was finished is taken, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

NUM_SHARDS = 12
# Receipts that are there at the kill; at the last ones the commit begins.
KILLS = (0, 1, 4, 8, 12, 12)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in") / "pets"
    for number in range(2400):
        path = folder / f"class_{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number % 256, number // 256, 0)).save(path)
    return folder


@pytest.fixture
def start(images, tmp_path):
    """Starts a build; its temporary files go to a folder of their own."""
    (tmp_path / "temporary").mkdir()

    def build(output):
        line = [sys.executable, "-m", "beam_pipeline", "build", images, "--output", output]
        line += ["--num-shards", str(NUM_SHARDS)]
        environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
        quiet = subprocess.DEVNULL
        return subprocess.Popen(line, stdout=quiet, stderr=quiet, env=environment)

    return build


def finished_files(output):
    """The shards of receipts, whole, by inode."""
    inodes = set()
    for receipt in Path(output).glob("pets/.building-*/*/receipts/*.json"):
        files = json.loads(receipt.read_text())["files"]
        [shard] = [file["path"] for final, file in files.items() if "/" not in final]
        inodes.add(os.stat(receipt.parent.parent / shard).st_ino)
    return inodes


def wait_for_receipts(output, count, build):
    """Until so many shards are finished."""
    while build.poll() is None:
        if len([*Path(output).glob("pets/.building-*/*/receipts/*.json")]) >= count:
            return
        time.sleep(0.001)


@pytest.mark.slow
def test_killed_at_many_moments(start, tmp_path, digests):
    assert start(tmp_path / "whole").wait() == 0
    expected = digests(tmp_path / "whole/pets/1.0.0")
    seen = []
    for number, receipts in enumerate(KILLS):
        output = tmp_path / f"out{number}"
        build = start(output)
        wait_for_receipts(output, receipts, build)
        time.sleep(0.02 * number)
        build.send_signal(signal.SIGKILL)
        build.wait()
        directory = output / "pets/1.0.0"
        if (directory / "metadata.json").exists():
            assert digests(directory) == expected
            continue
        assert not directory.exists()
        finished = finished_files(output)
        seen.append(len(finished))

        assert start(output).wait() == 0
        assert digests(directory) == expected
        taken = {path.stat().st_ino for path in directory.glob("pets-*")}
        assert finished <= taken
        assert [path.name for path in (output / "pets").iterdir()] == ["1.0.0"]
        assert os.listdir(tmp_path / "temporary") == []
    assert max(seen) >= 4, seen
