"""Boxes of DOTA that are not upright, from its files to every reader."""

import math

import numpy as np
import pytest
import tensorflow as tf

import beam_pipeline
import tfrecord_dataset
import trainer

# Of an image of 40 x 20: turned by 30 degrees, upright and tall, and four corners at a slant.
TURNED = (20, 10, 12, 4, 30)


def corners(cx, cy, w, h, degrees):
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return [
        (cx + a * w / 2 * cosine - b * h / 2 * sine, cy + a * w / 2 * sine + b * h / 2 * cosine)
        for a, b in signs
    ]


@pytest.fixture(scope="module")
def info(tmp_path_factory, write_image):
    root = tmp_path_factory.mktemp("dota")
    rows = [corners(*TURNED), [(2, 2), (6, 2), (6, 12), (2, 12)]]
    (root / "labelTxt").mkdir()
    for name, some in {"a": rows, "b": rows[:1], "c": []}.items():
        write_image(root / f"images/{name}.png", size=(40, 20))
        lines = [" ".join(f"{each:.4f}" for xy in row for each in xy) + " plane 0" for row in some]
        (root / f"labelTxt/{name}.txt").write_text("\n".join(lines))
    output = tmp_path_factory.mktemp("out")
    return beam_pipeline.build(
        beam_pipeline.BuildConfig(input=str(root), output=str(output), name="planes")
    )


@pytest.fixture(scope="module")
def records(info):
    return {len(each["boxes"]): each for each in tfrecord_dataset.open(info.path)["train"]}


@pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")
def test_five_numbers_a_box(info, records, readers_agree):
    readers_agree(info)
    assert info.features["boxes"].geometry == ("polygon", "rotated")

    turned, upright = records[2]["rotated"]
    assert records[2]["rotated"].dtype == np.float32
    cx, cy, w, h, degrees = TURNED
    expected = (cx / 40, cy / 20, w / 40, h / 20, math.radians(degrees))
    assert turned == pytest.approx(expected, abs=1e-5)
    # The longer side is the first: it stands upright.
    assert upright == pytest.approx((4 / 40, 7 / 20, 10 / 40, 4 / 20, -math.pi / 2), abs=1e-5)
    assert records[0]["rotated"].shape == (0, 5)
    (batch,) = trainer.open(info.path).batches(batch_size=3)
    assert (batch["rotated"].dtype, batch["rotated"].shape) == (tf.float32, (3, 2, 5))
