"""The commands, one after the other, as a user types them."""

import pytest
from PIL import Image

from beam_pipeline.cli import commands


@pytest.fixture(scope="module")
def built(class_folders, tmp_path_factory):
    """A dataset's directory."""
    folder = tmp_path_factory.mktemp("built")
    class_folders(folder / "pets", each=6)
    output = str(folder / "data")
    arguments = ["--output", output, "--split", "train=0.6,test=0.4", "--num-shards", "2"]
    assert commands.main(["build", str(folder / "pets"), *arguments]) == 0
    return f"{output}/pets/1.0.0"


@pytest.mark.slow
def test_verify(built, command, tmp_path):
    done = command("beam_pipeline", "verify", built, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 records in 4 shards of 2 splits: no problems" in done.stdout


def test_show(built, command, tmp_path):
    done = command("beam_pipeline", "show", built, "--images", "shown", "--limit", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "image/class/text" in done.stdout
    images = sorted((tmp_path / "shown").iterdir())
    assert len(images) == 4
    assert all(str(path.name) in done.stdout for path in images)
    for path in images:
        Image.open(path).verify()


@pytest.mark.slow
def test_plan(class_folders, command, tmp_path):
    done = command("beam_pipeline", "plan", class_folders(tmp_path / "pets"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "layout: folders" in done.stderr
    assert "2 classes: cat, dog" in done.stdout
