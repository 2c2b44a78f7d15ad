"""Predictions of trained models for files, folders and datasets, by the command."""

import contextlib
import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import trainer
from beam_pipeline.cli import commands
from trainer.commands import main

DATA = Path(__file__).parents[2] / "examples/data"
SMALL = ("--image-size", "96x64", "--batch-size", "8")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A function (input, options of train) to (dataset, run), trained once for one epoch."""
    folder = tmp_path_factory.mktemp("trained")
    known = {}

    def get(source, *options):
        if source not in known:
            arguments = ["build", str(source), "--output", str(folder / source.name)]
            splits = ["--split", "train=0.7,test=0.3"] if source.name == "cells" else []
            assert commands.main([*arguments, *splits]) == 0
            (metadata,) = (folder / source.name).glob("*/1.0.0/metadata.json")
            run = folder / f"{source.name}-run"
            where = ["--data", str(metadata.parent), "--output", str(run), "--quiet"]
            assert main(["train", *where, "--epochs", "1", "--seed", "0", *options]) == 0
            known[source] = (metadata.parent, run)
        return known[source]

    return get


def predicted(command_here, run, *arguments):
    done = command_here("trainer", "predict", *arguments, "--run", run, "--quiet")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def cells(trained):
    return trained(DATA / "cells", "--image-size", "32")


def test_a_folder_of_images(cells, command_here, tmp_path):
    """Including one rotated by Exif, and one in a format that TensorFlow does not read."""
    _, run = cells
    shutil.copytree(DATA / "cells/WBC", tmp_path / "new")
    first = sorted((tmp_path / "new").iterdir())[0]
    Image.open(first).convert("RGB").save(tmp_path / "new/a.webp", lossless=True)
    (tmp_path / "new/notes.md").write_text("not an image")

    rows = [
        json.loads(line) for line in predicted(command_here, run, tmp_path / "new").splitlines()
    ]

    assert [row["source"] for row in rows] == sorted(
        str(file) for file in (tmp_path / "new").iterdir() if file.suffix != ".md"
    )
    for row in rows:
        assert row["probability"] == row["probabilities"][row["prediction"]]
        assert sum(row["probabilities"].values()) == pytest.approx(1)
    by_source = {row["source"]: row["probabilities"] for row in rows}
    webp = by_source[str(tmp_path / "new/a.webp")]
    # The JPEG is reduced by its decoder, the other by resizing.
    assert webp == pytest.approx(by_source[str(first)], abs=0.05)


def test_files_that_cannot_be_read_are_lines(cells, command_here, tmp_path):
    _, run = cells
    shutil.copytree(DATA / "cells/WBC", tmp_path / "new")
    files = sorted((tmp_path / "new").iterdir())
    damaged = {str(files[place]) for place in (0, 1, 5, 40, len(files) - 1)}
    for file in map(Path, damaged):
        file.write_bytes(file.read_bytes()[: 400 if file == files[5] else 0])

    done = command_here("trainer", "predict", tmp_path / "new", "--run", run)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["source"] for row in rows] == [*map(str, files)]
    assert {row["source"] for row in rows if "error" in row} == damaged
    assert all(row["source"] in row["error"] for row in rows if "error" in row)
    assert f"5 of {len(files)} records cannot be read; first: {files[0]}" in done.stderr

    lines = predicted(command_here, run, tmp_path / "new", "--format", "csv").splitlines()
    assert lines[1] == f"{files[0]},,"
    assert len(lines) == len(files) + 1

    done = command_here(
        *("trainer", "predict", tmp_path / "new", "--run", run, "--max-bad-fraction", "0.01")
    )
    assert done.returncode == 3
    done = command_here("trainer", "predict", files[0], "--run", run)
    assert done.returncode == 3


def test_the_best_threshold_of_two_classes(trained, command_here, tmp_path):
    """A threshold moves predictions only, and the best one is that of the run's history."""
    shutil.copytree(DATA / "cells/WBC", tmp_path / "two/WBC")
    shutil.copytree(DATA / "cells/RBC", tmp_path / "two/RBC")
    _, run = trained(tmp_path / "two", "--image-size", "32")
    best = float(
        [*csv.DictReader((run / "history.csv").read_text().splitlines())][-1]["val_threshold"]
    )

    def rows(*more):
        return [
            *map(json.loads, predicted(command_here, run, tmp_path / "two", *more).splitlines())
        ]

    probabilities = [row["probabilities"]["WBC"] for row in rows()]
    middle = sorted(probabilities)[len(probabilities) // 2]
    for stated, least in {"best": best, f"{middle}": middle, "0.5": 0.5}.items():
        found = rows("--threshold", stated)
        assert [row["prediction"] == "WBC" for row in found] == [p >= least for p in probabilities]
        assert all(row["probability"] == row["probabilities"][row["prediction"]] for row in found)

    done = command_here("trainer", "predict", tmp_path, "--run", run, "--threshold", "1.5")
    assert done.returncode == 2
    assert "give a number between 0 and 1, or best" in done.stderr


def test_a_dataset_gives_what_evaluation_counts(cells, command_here):
    data, run = cells
    lines = list(csv.DictReader(io.StringIO(predicted(command_here, run, data, "--format", "csv"))))
    done = command_here("trainer", "evaluate", "--data", data, "--run", run, "--quiet")

    accuracy = json.loads(done.stdout)["accuracy"]
    # The first part of a path is its class.
    right = [line["source"].split("/")[0] == line["prediction"] for line in lines]
    assert np.mean(right) == pytest.approx(accuracy)

    done = command_here("trainer", "predict", data, "--run", run, "--min-score", "0.5")
    assert done.returncode == 2
    assert "--min-score does not suit the model's task, classification" in done.stderr


@pytest.mark.nightly
def test_a_dataset_a_folder_and_a_table_give_the_same_output(cells, command_here, tmp_path):
    data, run = cells
    lines = predicted(command_here, run, data, "--format", "csv").splitlines()[1:]
    (tmp_path / "new").mkdir()
    for number, line in enumerate(lines):
        source = DATA / "cells" / line.partition(",")[0]
        shutil.copyfile(source, tmp_path / "new" / f"{number:03}.jpg")
    files = sorted((tmp_path / "new").iterdir())
    table = tmp_path / "new.csv"
    table.write_text("\n".join(["image", *map(str, files)]) + "\n")

    outputs = []
    for path in (data, tmp_path / "new", table):
        rows = [json.loads(line) for line in predicted(command_here, run, path).splitlines()]
        text = predicted(command_here, run, path, "--format", "csv")
        header, *of_rows = csv.reader(text.splitlines())
        assert header == ["source", "prediction", "probability"]
        assert of_rows == [
            [row["source"], row["prediction"], f"{row['probability']}"] for row in rows
        ]
        rounded = {
            name: [round(row["probabilities"][name], 4) for row in rows]
            for name in rows[0]["probabilities"]
        }
        outputs.append(([*rows[0]], [row["prediction"] for row in rows], rounded))
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0][1]) == len(files) > 20


def test_boxes_are_shown_from_the_score_that_validation_found(trained, command_here, tmp_path):
    """In rows and drawings; COCO's file has all boxes, with the same drawings."""
    _, run = trained(DATA / "blood", *SMALL)
    image = min((DATA / "blood/JPEGImages").iterdir())
    with (run / "history.csv").open() as lines:
        least = float([*csv.DictReader(lines)][-1]["val_min_score"])

    [row] = map(
        json.loads, predicted(command_here, run, image, "--images", tmp_path / "rows").splitlines()
    )
    found = json.loads(
        predicted(command_here, run, image, "--format", "coco", "--images", tmp_path / "coco")
    )

    scores = [each["score"] for each in row["detections"]]
    assert scores == [each["score"] for each in found if each["score"] >= least]
    assert len(scores) < len(found)
    assert (row["width"], row["height"]) == (640, 480)
    drawn = [tmp_path / name / f"000001-{image.stem}.png" for name in ("rows", "coco")]
    assert drawn[0].read_bytes() == drawn[1].read_bytes()
    assert (np.asarray(Image.open(drawn[0])) != np.asarray(Image.open(image).convert("RGB"))).any()


def test_cocos_results_evaluate_to_what_evaluate_says(trained, command_here, tmp_path):
    """Expected: pycocotools on the predictions and the dataset's boxes as COCO JSON."""
    data, run = trained(DATA / "blood", *SMALL)
    file = tmp_path / "found.json"
    predicted(command_here, run, data, "--format", "coco", "--output", file)
    truth = COCO()
    truth.dataset = {
        "info": {},
        "images": [],
        "annotations": [],
        "categories": [{"id": number} for number in (1, 2, 3)],
    }
    for record in trainer.open(data).numpy("test", features=["image", "boxes"]):
        height, width = record["image"].shape[:2]
        truth.dataset["images"].append({"id": len(truth.dataset["images"]) + 1})
        for box, label in zip(record["boxes"], record["box_labels"], strict=True):
            xmin, ymin, xmax, ymax = (box * [width, height, width, height]).tolist()
            truth.dataset["annotations"].append(
                {
                    "id": len(truth.dataset["annotations"]) + 1,
                    "image_id": len(truth.dataset["images"]),
                    "category_id": int(label) + 1,
                    "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
                    "area": (xmax - xmin) * (ymax - ymin),
                    "iscrowd": 0,
                }
            )
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        by_hand = COCOeval(truth, truth.loadRes(str(file)), "bbox")
        by_hand.evaluate()
        by_hand.accumulate()
        by_hand.summarize()
    done = command_here("trainer", "evaluate", "--data", data, "--run", run, "--quiet")

    result = json.loads(done.stdout)
    for name, value in zip(("mAP", "mAP50", "mAP75"), by_hand.stats, strict=False):
        assert result[name] == pytest.approx(value, abs=1e-6)
