"""From predictions of points to boxes, and their mean average precision."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.detection.mean_average_precision import MeanAveragePrecision
from trainer.tasks.detection.points import points_of
from trainer.tasks.detection.suppression import detections

POINTS = points_of(ImageSize(64, 64))


def outputs(*predictions):
    """Raw outputs for 2 classes where (point, class, logit, distance in strides) predict."""
    raw = np.full((1, len(POINTS), 7), -20, np.float32)
    for point, label, logit, distance in predictions:
        raw[0, point, label] = logit
        raw[0, point, 2:6] = np.log(np.expm1(distance))
        raw[0, point, 6] = 20
    return tf.constant(raw)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        pytest.param([], [], id="none"),
        # Point 9 is at (12, 12): two strides of 8 to each side reach from -4, cut at 0, to 28.
        pytest.param([(9, 1, 0.0, 2.0)], [(1, 0.707, [0, 0, 28, 28])], id="cut at the sides"),
        pytest.param(
            [(18, 0, 3.0, 2.0), (19, 0, 1.0, 2.0)],
            [(0, 0.976, [4, 4, 36, 36]), (0, 0.416, [12, 4, 44, 36])],
            id="the less probable of two on the same object is less so beside it",
        ),
        pytest.param(
            [(18, 0, 1.0, 2.0), (18, 1, 3.0, 2.0)],
            [(1, 0.976, [4, 4, 36, 36]), (0, 0.855, [4, 4, 36, 36])],
            id="classes do not suppress each other",
        ),
    ],
)
def test_detections(predictions, expected):
    found = {
        name: value.numpy()[0] for name, value in detections(POINTS, outputs(*predictions)).items()
    }

    number = len(expected)
    assert found["labels"].tolist() == [label for label, _, _ in expected] + [-1] * (100 - number)
    assert found["scores"][:number].tolist() == pytest.approx(
        [score for _, score, _ in expected], abs=1e-3
    )
    assert (found["scores"][number:] == 0).all()
    boxes = np.reshape([box for _, _, box in expected], (-1, 4))
    np.testing.assert_allclose(found["boxes"][:number] * 64, boxes, atol=1e-3)


@pytest.fixture
def images():
    """(target, predictions) of 12 images: boxes, and detections that are near some of them."""
    rng = np.random.default_rng(5)
    corner, size = rng.uniform(0, 0.6, (12, 6, 2)), rng.uniform(0.1, 0.4, (12, 6, 2))
    boxes = np.concatenate([corner, corner + size], axis=-1)
    labels = np.where(rng.random((12, 6)) < 0.7, rng.integers(0, 2, (12, 6)), -1)
    moved = np.clip(boxes + rng.normal(0, 0.03, boxes.shape), 0, 1)
    target = {"boxes": boxes, "labels": labels, "crowd": rng.random((12, 6)) < 0.1}
    target["windows"] = np.tile([0.0, 0.0, 1.0, 1.0], (12, 1))
    found = np.where(rng.random((12, 6)) < 0.8, rng.integers(0, 2, (12, 6)), -1)
    return target, {"boxes": moved, "labels": found, "scores": rng.random((12, 6))}


def part(values, start, end):
    return {name: value[start:end] for name, value in values.items()}


def test_map_is_that_of_pycocotools_in_pixels(images, tmp_path, capsys):
    """By hand: COCO's JSON with images of other sizes, through files."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    target, predictions = images
    sizes = [(640 + 10 * number, 480 - 7 * number) for number in range(12)]

    def rows(values, extra):
        for number in range(12):
            width, height = sizes[number]
            for place in np.flatnonzero(values["labels"][number] >= 0):
                box = values["boxes"][number, place] * [width, height, width, height]
                x, y, w, h = (*box[:2], *(box[2:] - box[:2]))
                yield {
                    "image_id": number + 1,
                    "category_id": int(values["labels"][number, place]) + 1,
                    "bbox": [x, y, w, h],
                    **extra(number, place, w * h),
                }

    objects = list(
        rows(target, lambda i, k, area: {"area": area, "iscrowd": int(target["crowd"][i, k])})
    )
    truth = {
        "images": [{"id": i + 1, "width": w, "height": h} for i, (w, h) in enumerate(sizes)],
        "annotations": [each | {"id": number} for number, each in enumerate(objects, start=1)],
        "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    }
    found = list(rows(predictions, lambda i, k, _: {"score": float(predictions["scores"][i, k])}))
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "found.json").write_text(json.dumps(found))
    coco = COCO(str(tmp_path / "truth.json"))
    by_hand = COCOeval(coco, coco.loadRes(str(tmp_path / "found.json")), "bbox")
    by_hand.evaluate()
    by_hand.accumulate()
    by_hand.summarize()
    capsys.readouterr()

    ours = MeanAveragePrecision(["a", "b"])
    ours.update(target, predictions)

    expected = dict(zip(("mAP", "mAP50", "mAP75"), by_hand.stats, strict=False))
    result = ours.result()
    assert {name: result[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    # F1 by hand: of no other score is it higher.
    f1 = {}
    for least in [result["min_score"], *sorted(each["score"] for each in found)]:
        kept = coco.loadRes([each for each in found if each["score"] >= least])
        counted = COCOeval(coco, kept, "bbox")
        counted.evaluate()
        images_of_all = [
            evalimg
            for evalimg in counted.evalImgs
            if evalimg is not None and evalimg["aRng"] == counted.params.areaRng[0]
        ]
        hits = sum(
            int((image["dtMatches"][0] > 0)[~image["dtIgnore"][0].astype(bool)].sum())
            for image in images_of_all
        )
        boxes = sum(int((image["dtIgnore"][0] == 0).sum()) for image in images_of_all)
        wanted = sum(int((np.asarray(image["gtIgnore"]) == 0).sum()) for image in images_of_all)
        f1[least] = 2 * hits / (boxes + wanted)
    capsys.readouterr()
    assert result["F1"] == pytest.approx(max(f1.values()))
    assert f1[result["min_score"]] == result["F1"]
    assert 0.05 < expected["mAP"] < expected["mAP50"] < 0.95
    assert capsys.readouterr().out == ""
