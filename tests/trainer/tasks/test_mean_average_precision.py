"""Mean average precision of boxes, and their figures."""

import json

import numpy as np
import pytest

from trainer.tasks.mean_average_precision import MeanAveragePrecision


@pytest.fixture
def images():
    """(target, predictions) of 12 images: boxes, and detections near some of them."""
    rng = np.random.default_rng(5)
    corner, size = rng.uniform(0, 0.6, (12, 6, 2)), rng.uniform(0.1, 0.4, (12, 6, 2))
    boxes = np.concatenate([corner, corner + size], axis=-1)
    labels = np.where(rng.random((12, 6)) < 0.7, rng.integers(0, 2, (12, 6)), -1)
    moved = np.clip(boxes + rng.normal(0, 0.03, boxes.shape), 0, 1)
    target = {"boxes": boxes, "labels": labels, "crowd": rng.random((12, 6)) < 0.1}
    target["windows"] = np.tile([0.0, 0.0, 1.0, 1.0], (12, 1))
    found = np.where(rng.random((12, 6)) < 0.8, rng.integers(0, 2, (12, 6)), -1)
    return target, {"boxes": moved, "labels": found, "score": rng.random((12, 6))}


def test_map_is_that_of_pycocotools_in_pixels(images, tmp_path, capsys):
    """Expected: pycocotools on COCO JSON files, with images of other sizes."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    target, predictions = images
    sizes = [(640 + 10 * number, 480 - 7 * number) for number in range(12)]

    def rows(values, name, dtype):
        for number, place in np.argwhere(values["labels"] >= 0).tolist():
            box = values["boxes"][number, place] * [*sizes[number], *sizes[number]]
            x, y, w, h = (*box[:2], *(box[2:] - box[:2]))
            yield {
                "image_id": number + 1,
                "category_id": int(values["labels"][number, place]) + 1,
                **{"bbox": [x, y, w, h], "area": w * h},
                name.replace("crowd", "iscrowd"): dtype(values[name][number, place]),
            }

    objects, found = rows(target, "crowd", int), [*rows(predictions, "score", float)]
    truth = {
        "images": [{"id": i + 1, "width": w, "height": h} for i, (w, h) in enumerate(sizes)],
        "annotations": [each | {"id": number} for number, each in enumerate(objects, start=1)],
        "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    coco = COCO(str(tmp_path / "truth.json"))
    by_hand = COCOeval(coco, coco.loadRes(found), "bbox")
    by_hand.evaluate()
    by_hand.accumulate()
    by_hand.summarize()
    capsys.readouterr()

    ours = MeanAveragePrecision(["a", "b"])
    ours.update(target, predictions | {"scores": predictions["score"]})

    expected = dict(zip(("mAP", "mAP50", "mAP75"), by_hand.stats, strict=False))
    result = ours.result()
    assert {name: result[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    f1 = {}  # expected: the maximum over all scores
    for least in [result["min_score"], *sorted(each["score"] for each in found)]:
        kept = coco.loadRes([each for each in found if each["score"] >= least])
        counted = COCOeval(coco, kept, "bbox")
        counted.evaluate()
        known = [each for each in counted.evalImgs if each is not None]
        of_all = [each for each in known if each["aRng"] == counted.params.areaRng[0]]
        counts = [np.equal(each["dtIgnore"][0], 0) for each in of_all]
        hits = sum(
            int((e["dtMatches"][0] > 0)[c].sum()) for e, c in zip(of_all, counts, strict=True)
        )
        wanted = sum(int(np.equal(each["gtIgnore"], 0).sum()) for each in of_all)
        f1[least] = 2 * hits / (sum(int(each.sum()) for each in counts) + wanted)
    capsys.readouterr()
    assert result["F1"] == pytest.approx(max(f1.values()))
    assert f1[result["min_score"]] == result["F1"]
    assert 0.05 < expected["mAP"] < expected["mAP50"] < 0.95
    assert capsys.readouterr().out == ""


# Objects (label, box) and detections (label, box, score) by image.
FIRST, SECOND, SMALL = [0.1, 0.1, 0.5, 0.5], [0.5, 0.5, 0.9, 0.9], [0.0, 0.0, 0.05, 0.05]
IMAGES = [
    ([(0, FIRST), (1, SECOND)], [(0, FIRST, 0.9)]),
    ([(0, FIRST), (-1, FIRST)], [(0, FIRST, 0.8), (0, SECOND, 0.6)]),
]


def metric(images, crowd=None):
    made = MeanAveragePrecision(["a", "b", "c"])
    for objects, predicted in images:
        labels, boxes = zip(*objects, strict=True)
        target = {"boxes": np.array([boxes]), "labels": np.array([labels])}
        target |= {"crowd": np.array([crowd or [False] * len(boxes)])}
        target |= {"windows": np.array([[0.0, 0, 1, 1]])}
        columns = zip(*predicted, strict=True)
        names = ("labels", "boxes", "scores")
        made.update(
            target, {name: np.array([each]) for name, each in zip(names, columns, strict=True)}
        )
    made.result()
    return made


@pytest.fixture
def found():
    return metric(IMAGES)


def test_by_class_and_size(found):
    facts = found.figures()["boxes"]
    a, b, c = facts["rows"]
    assert (a["objects"], a["ap50"], a["ar"]) == (2, pytest.approx(1), pytest.approx(1))
    assert (b["objects"], b["ap"], b["ar"]) == (1, 0, 0)
    assert (c["objects"], c["ap"], c["ar"]) == (0, None, None)
    assert [each["name"] for each in facts["sizes"]] == ["small", "medium", "large"]
    assert [each["ap"] for each in facts["sizes"]] == [None, None, pytest.approx(1 / 2)]


def test_small_objects_are_counted_apart():
    made = metric([([(0, SMALL), (0, FIRST)], [(0, SMALL, 0.9)])])
    small, medium, large = made.figures()["boxes"]["sizes"]
    assert (small["ap"], medium["ap"], large["ap"]) == (pytest.approx(1), None, 0)


def test_f1_by_score_and_precision_by_recall(found):
    facts = found.figures()["boxes"]
    assert facts["f1"] == [
        (pytest.approx(score), pytest.approx(f1))
        for score, f1 in [(0.6, 4 / 6), (0.8, 0.8), (0.9, 0.5)]
    ]
    assert facts["best"] == pytest.approx([0.8, 0.7])
    assert set(facts["curves"]) == {"all classes", "a", "b"}
    assert facts["curves"]["a"][-1] == (1, pytest.approx(1))


def test_truth_and_predictions_at_the_best_score(found):
    first, second = found.examples()
    assert (first.number, first.text) == (0, "1 of 2 missed, 0 wrong")
    assert (second.number, second.text) == (1, "0 of 1 missed, 0 wrong")
    assert [box["text"] for box in second.overlays["true"].boxes] == ["a"]
    (shown,) = second.overlays["predicted"].boxes
    assert (shown["label"], shown["text"], shown["box"]) == (0, "a 0.80", pytest.approx(FIRST))


def test_without_objects_or_boxes_there_is_nothing_to_show():
    made = metric([([(-1, FIRST)], [(0, FIRST, 0.9)])])
    assert (made.figures(), made.examples()) == ({}, [])


def test_a_detection_in_a_crowd_counts_as_neither_right_nor_wrong():
    made = metric([([(0, FIRST), (1, SECOND)], [(0, FIRST, 0.9)])], crowd=[True, False])
    assert (made.result()["F1"], made.figures()["boxes"]["f1"]) == (0, [])
    assert [example.text for example in made.examples()] == ["1 of 1 missed, 0 wrong"]


@pytest.mark.parametrize(
    ("label", "found", "expected", "least"),
    [
        pytest.param(-1, 0, np.nan, np.nan, id="no object at all"),
        pytest.param(0, -1, 0.0, np.nan, id="no detection"),
        pytest.param(0, 0, 1.0, 0.45, id="the object itself"),
        pytest.param(0, 1, 0.0, 0.45, id="another class"),
    ],
)
def test_the_ends_of_map(label, found, expected, least):
    values = dict.fromkeys(("mAP", "mAP50", "mAP75", "F1"), expected) | {"min_score": least}
    result = metric([([(label, FIRST)], [(found, FIRST, 0.9)])]).result()
    assert result == pytest.approx(values, nan_ok=True)


def test_the_interval_is_that_of_other_images(images):
    """Expected: pycocotools on images that are drawn with replacement."""
    target, predictions = images
    predictions = predictions | {"scores": predictions["score"]}
    metric = MeanAveragePrecision(["a", "b"])
    metric.update(target, predictions)
    metric.result()
    random, drawn = np.random.default_rng(1), []
    for _ in range(100):
        chosen = random.integers(0, 12, 12)
        again = MeanAveragePrecision(["a", "b"])
        again.update(
            *({name: each[chosen] for name, each in part.items()} for part in (target, predictions))
        )
        drawn.append(again.result()["mAP50"])

    assert metric.intervals()["mAP50"] == pytest.approx(
        np.quantile(drawn, [0.025, 0.975]), abs=0.04
    )
    assert MeanAveragePrecision(["a"]).intervals() == {}
