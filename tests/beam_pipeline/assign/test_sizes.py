"""Shards have about the wanted size, whatever the records are made of."""

import csv
import random

import numpy as np
import pytest
from PIL import Image
from tiers import first_in_ci

import beam_pipeline

ROWS = 3_000


def table(folder, num_columns):
    """Write numbers, fractions, words and a label."""
    draw = random.Random(num_columns)
    makers = (
        lambda: draw.randrange(100),
        lambda: f"{draw.random():.4f}",
        lambda: draw.choice(["north", "south-west", "east"]),
        lambda: draw.randrange(-(2**40), 2**40),
    )
    names = [f"measurement_{number}" for number in range(num_columns - 1)]
    with open(folder / "table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", *names])
        for _ in range(ROWS):
            values = [makers[number % len(makers)]() for number in range(len(names))]
            writer.writerow([draw.choice(["cat", "dog"]), *values])
    return folder / "table.csv"


def images(folder):
    """Write images of 28 x 28 pixels in two class folders."""
    pixels = np.random.default_rng(1).integers(0, 256, (300, 28, 28), np.uint8)
    for number, each in enumerate(pixels):
        path = folder / "digits" / str(number % 2) / f"{number:05}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(each).save(path)
    return folder / "digits"


@pytest.mark.parametrize(
    "make",
    first_in_ci(
        [
            pytest.param(lambda folder: table(folder, 5), id="5 columns"),
            pytest.param(lambda folder: table(folder, 50), id="50 columns"),
            pytest.param(images, id="small images"),
        ]
    ),
)
def test_shards_have_about_the_wanted_size(tmp_path, make):
    options = {"input": str(make(tmp_path)), "output": str(tmp_path / "data"), "no_report": True}
    wanted = 48 << 10
    config = beam_pipeline.BuildConfig(**options, target_shard_bytes=wanted)

    [planned] = beam_pipeline.plan(config).plan.splits.values()
    sizes = [shard.num_bytes for shard in beam_pipeline.build(config).splits["train"]]

    assert len(sizes) == planned.num_shards > 4
    assert 0.75 * wanted < min(sizes)
    assert max(sizes) < 1.25 * wanted
    assert planned.num_bytes == pytest.approx(sum(sizes), rel=0.025)
