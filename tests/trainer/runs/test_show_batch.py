"""`show-batch`: the first batch of a training as a picture."""

import numpy as np
import pytest
from PIL import Image

from trainer.commands import main
from trainer.report.pictures import sheet
from trainer.tasks.figures import Overlay
from trainer.tasks.targets.boxes_target import BoxesTarget
from trainer.tasks.targets.class_targets import ManyClasses, OneClass
from trainer.tasks.targets.map_target import MapTarget


def test_labels_in_words():
    one, many = (each(name="label", classes=("a", "b", "c")) for each in (OneClass, ManyClasses))
    assert one.shown(np.int64(1))[0] == "b"
    assert one.shown(np.float32([0.25, 0.75, 0]))[0] == "b 0.75, a 0.25"
    assert many.shown(np.float32([1, 0, 1]))[0] == "c, a"


def test_boxes_and_maps_are_drawn_on_the_image():
    boxes = BoxesTarget(name="boxes", classes=("cat", "dog"))
    places = np.float32([[0.25, 0.25, 0.75, 0.75], [-1] * 4])
    text, overlay = boxes.shown({"boxes": places, "labels": np.array([1, -1])})
    assert (text, [box["text"] for box in overlay.boxes]) == ("boxes: 1", ["dog"])
    grey = np.full((32, 32, 3), 128, np.uint8)
    plain, boxed = (np.asarray(sheet([(grey, "", each)])) for each in (Overlay(), overlay))
    changed = np.argwhere((plain != boxed).any(axis=-1))
    assert plain.shape[1] == 320 + 8
    assert (changed.min(axis=0).tolist(), changed.max(axis=0).tolist()) == ([80, 80], [240, 240])

    maps = MapTarget(name="map", classes=("background", "cell"))
    numbers = np.zeros((32, 32), np.uint8)
    numbers[:16] = 1
    text, overlay = maps.shown(numbers)
    drawn = np.asarray(sheet([(grey, text, overlay)]))
    assert text == "background, cell"
    assert (drawn[:160, :320] != 128).any(axis=-1).all()
    assert (drawn[161:320, :320] == 128).all()


@pytest.mark.slow
def test_the_first_batch_is_drawn_and_depends_on_the_seed(colors, tmp_path, capsys):
    def draw(seed, augment="rand"):
        file = tmp_path / "new" / f"{seed}.png"
        options = ("--batch-size", "6", "--image-size", "16", "--augment", augment)
        code = main(
            ["show-batch", "--data", str(colors), "--output", str(file), "--seed", seed, *options]
        )
        assert code == 0, capsys.readouterr().err
        assert capsys.readouterr().out.strip() == str(file)
        return np.asarray(Image.open(file))

    first, second = draw("1"), draw("2")
    assert first.shape == second.shape == (2 * 348, 3 * 328, 3)
    assert (first != second).any()
    assert (draw("1") == first).all()
    assert (draw("1", "none") != first).any()
