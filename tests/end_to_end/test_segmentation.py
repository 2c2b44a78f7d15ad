"""Maps of classes to a trained segmenter, by the commands of docs/segmentation.md."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

_ROOT = Path(__file__).parents[2]
_CLASSES = ("background", "RBC", "WBC", "Platelets")


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """60 blood smears with maps of ellipses, of four classes."""
    folder = tmp_path_factory.mktemp("maps") / "blood_maps"
    script = _ROOT / "examples/blood_maps.py"
    subprocess.run(
        [sys.executable, script, _ROOT / "examples/data/blood", folder],
        check=True,
        capture_output=True,
    )
    return folder


def test_maps_are_drawn_for_every_box(maps):
    """A cell's middle has its class, unless others lie over it."""
    import defusedxml.ElementTree

    right = total = 0
    for annotation in sorted((_ROOT / "examples/data/blood/Annotations").glob("*.xml")):
        (file,) = maps.glob(f"masks/*/{annotation.stem}.png")
        classes = np.asarray(Image.open(file))
        assert set(np.unique(classes)) <= {*range(len(_CLASSES)), 255}
        for found in defusedxml.ElementTree.parse(annotation).iter("object"):
            left, top, right_side, bottom = (
                int(found.findtext(f"bndbox/{side}")) for side in ("xmin", "ymin", "xmax", "ymax")
            )
            number = classes[(top + bottom) // 2, (left + right_side) // 2]
            right += _CLASSES.index(found.findtext("name")) == number
            total += 1
    assert total > 500
    assert right / total > 0.9


@pytest.mark.slow
def test_blood_cells_are_told_from_background(maps, command, tmp_path):
    """docs/segmentation.md states 0.61; all background has 0.14."""
    done = command("beam_pipeline", "build", maps, "--output", tmp_path / "data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data, run = tmp_path / "data/blood_maps", tmp_path / "run"
    done = command(
        *("trainer", "train", "--data", data, "--output", run, "--image-size", "160x128"),
        *("--batch-size", 8, "--epochs", 4, "--steps-per-epoch", 50, "--seed", 0),
        *("--learning-rate", 0.002, "--schedule", "cosine"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "task segmentation: from image (image) to segmentation (map) of 4 classes" in done.stderr

    done = command(
        "trainer", "evaluate", "--data", data, "--run", run, "--split", "test", cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert {f"IoU/{name}" for name in _CLASSES} < set(result)
    assert result["mIoU"] > 0.5
    assert result["IoU/WBC"] > 0.7

    found, maps_found = tmp_path / "found.jsonl", tmp_path / "found"
    done = command(
        *("trainer", "predict", data, "--run", run, "--split", "test", "--output", found),
        *("--maps", maps_found, "--images", tmp_path / "drawn"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in found.read_text().splitlines()]
    assert len(rows) == 10
    for row in rows:
        with Image.open(maps_found / row["map"]) as image:
            assert (image.mode, image.size) == ("P", (640, 480))
