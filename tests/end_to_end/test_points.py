"""Points of LabelMe, which images name differently, from its files to every reader."""

import json

import numpy as np
import pytest

import beam_pipeline
import tfrecord_dataset
from beam_pipeline.cli import commands

NAMES = ("left eye", "right eye", "tip 2", "tip 10")
POINTS = {
    "a": {"right eye": (40, 12), "left eye": (20, 12)},
    "b": {"tip 10": (8, 40), "right eye": (30, 24), "tip 2": (6, 3)},
    "c": {},
}


def shape(kind, label, *points, group=1):
    return {"shape_type": kind, "label": label, "points": points, "group_id": group}


@pytest.fixture(scope="module")
def info(tmp_path_factory, write_image):
    folder = tmp_path_factory.mktemp("labelme")
    for key, points in POINTS.items():
        write_image(folder / f"{key}.jpg", size=(64, 48))
        shapes = [shape("point", *each) for each in points.items()]
        shapes += [shape("rectangle", "cat", (4, 2), (60, 44))]
        told = {"shapes": shapes, "imageWidth": 64, "imageHeight": 48}
        (folder / f"{key}.json").write_text(json.dumps(told))
    output = tmp_path_factory.mktemp("built")
    config = beam_pipeline.BuildConfig(input=str(folder), output=str(output), name="cats")
    return beam_pipeline.build(config)


@pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")
def test_each_point_is_in_the_place_of_its_name(info, readers_agree):
    readers_agree(info)
    feature = info.features["boxes"]
    assert feature.keypoint_names == NAMES
    assert feature.keypoint_flips == (1, 0, 2, 3)
    expected = []
    for stated in POINTS.values():  # -1 where an object has no points at all
        lacking = (0, 0, 0) if stated else (-64, -48, -1)
        expected.append([(*stated[name], 2) if name in stated else lacking for name in NAMES])
    read = [record["keypoints"] for record in tfrecord_dataset.open(info.path)["train"]]
    found = sorted((points[0] * [64, 48, 1]).tolist() for points in read)
    np.testing.assert_allclose(found, sorted(map(list, expected)), atol=1e-4)


def test_plan_names_the_option_that_joins_points_in_no_group(tmp_path, write_image, capsys):
    for key, points in POINTS.items():
        write_image(tmp_path / f"{key}.jpg", size=(64, 48))
        shapes = [shape("point", *each, group=None) for each in points.items()]
        (tmp_path / f"{key}.json").write_text(json.dumps({"shapes": shapes}))
    assert commands.main(["plan", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"set points: landmarks, which makes keypoints of them: {', '.join(NAMES)}" in told
    recipe = tmp_path.parent / "landmarks.yaml"
    recipe.write_text(f"input: {tmp_path}\npoints: landmarks\n")
    assert commands.main(["plan", str(recipe)]) == 0
    joined = capsys.readouterr().out
    assert "in no group" not in joined
    assert f"boxes, 0 classes, keypoints {', '.join(NAMES)}" in joined
