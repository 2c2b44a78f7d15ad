"""Caching decoded images yields the same batches with less work."""

import numpy as np
import pytest
from tiers import first_in_ci

import trainer
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.image_size import ImageSize
from trainer import image_cache
from trainer.errors import ConfigError, UnknownNameError
from trainer.image_cache import ImageCache, KeptImages, resolve
from trainer.views import Views

CROPS = Views(area=(0.25, 1.0), mirror=True)
FLIPS = Views(mirror=True)
(IMAGE,) = features_from_json([{"name": "image", "kind": "image", "key": "image"}]).values()


@pytest.fixture
def kept():
    """A cache for three of four records of one pixel."""
    return KeptImages(3 * 3, [IMAGE], ImageSize(1, 1), 4)


def test_what_was_kept_is_found(kept):
    row = np.array([1, 2, 3], np.uint8)

    kept.keep(2, row)
    kept.keep(0, np.zeros(3, np.uint8))  # zeros are an image, too
    kept.keep(3, row)  # beyond the bound
    rows, found = kept.find(np.array([1, 2, 3, 0]))

    assert found.tolist() == [False, True, False, True]
    assert rows[1].tolist() == [1, 2, 3]
    assert rows[3].tolist() == [0, 0, 0]


def test_a_row_that_another_thread_keeps_meanwhile(kept, monkeypatch):
    holds = kept._holds

    def keep_and_hold(numbers):
        kept.keep(2, np.array([1, 2, 3], np.uint8))
        return holds(numbers)

    monkeypatch.setattr(kept, "_holds", keep_and_hold)
    rows, found = kept.find(np.array([2]))

    assert not found[0] or rows[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("place", "views", "num_records", "expected"),
    [
        pytest.param("auto", None, 10, "memory", id="fits the memory"),
        pytest.param("auto", FLIPS, 10, "memory", id="mirrored"),
        pytest.param("auto", None, 1000, "none", id="does not fit"),
        pytest.param("auto", CROPS, 10, "none", id="crops"),
        pytest.param("memory", None, 1000, "memory", id="a part fits"),
        pytest.param("none", CROPS, 10, "none", id="none"),
    ],
)
def test_the_place(monkeypatch, place, views, num_records, expected):
    monkeypatch.setattr(image_cache, "free_memory", lambda: 20_000)

    chosen = resolve(ImageCache(place), [IMAGE], views, ImageSize(10, 10), lambda: num_records)

    assert chosen.place == expected


def test_images_that_are_seen_once_are_not_kept():
    chosen = resolve(ImageCache(), [IMAGE], None, ImageSize(10, 10), lambda: 1, is_seen_again=False)

    assert chosen.place == "none"


def test_what_cannot_be_kept(dataset):
    for options in ({}, {"image_size": 8, "views": CROPS}):
        with pytest.raises(ConfigError, match="cache='memory' keeps whole images, stretched to"):
            dataset.batches("train", batch_size=None, cache="memory", **options)
    with pytest.raises(UnknownNameError, match="memroy"):
        dataset.batches("train", image_size=8, cache="memroy")


def images(batches):
    return np.concatenate([batch["image"] for batch in batches])


@pytest.mark.parametrize("dtype", first_in_ci(["float32", "uint8"]))
@pytest.mark.parametrize("views", first_in_ci([FLIPS, None]), ids=["mirrored", "whole"])
def test_batches_are_equal_bit_for_bit(colors, views, dtype):
    """Except in float32, which only the cache rounds."""
    dataset = trainer.open(colors)
    options = {"image_size": 16, "views": views, "shuffle": True, "seed": 3, "batch_size": 7}
    options["image_dtype"] = dtype
    expected = images(dataset.batches("train", repeat=3, **options))

    kept = images(dataset.batches("train", repeat=3, cache="memory", **options))
    # Start in the middle of a pass, with images cached by another iteration.
    rest = images(dataset.batches("train", repeat=3, first_record=70, cache="memory", **options))

    np.testing.assert_array_equal(rest, kept[70:])
    np.testing.assert_allclose(kept, expected, rtol=0, atol=0 if dtype == "uint8" else 0.501 / 255)


@pytest.mark.slow
def test_an_image_is_decoded_once(colors):
    """Cached images are used: here one differs from the record's."""
    dataset = trainer.open(colors)
    options = {"image_size": 16, "image_dtype": "uint8", "batch_size": None, "cache": "memory"}
    list(dataset.batches("validation", **options))
    (kept,) = dataset._kept.values()
    kept._rows[:] = 99

    second = images(dataset.batches("validation", **options))

    assert (second == 99).all()
    shuffled = images(dataset.batches("validation", shuffle=True, **options))
    assert (shuffled == 99).all()
