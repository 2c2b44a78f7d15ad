"""Decoded images that are kept: the same batches, from less work."""

import os

import numpy as np
import pytest
import tensorflow as tf
from tiers import first_quick

import trainer
from tfrecord_dataset.declaration import features_from_json
from tfrecord_dataset.image_size import ImageSize
from trainer import image_cache
from trainer.errors import ConfigError, UnknownNameError
from trainer.image_cache import ImageCache, Need, place_of, resolve, stored_size
from trainer.image_cache.store import FileStore, MemoryStore
from trainer.views import Views

CROPS = Views(area=(0.25, 1.0), mirror=True)
FLIPS = Views(mirror=True)
(IMAGE,) = features_from_json([{"name": "image", "kind": "image", "key": "image"}]).values()


@pytest.fixture(params=["memory", "disk"])
def make_store(request, tmp_path):
    def make(num_rows=4, row_bytes=3, name="a", max_bytes=1 << 20):
        if request.param == "memory":
            return MemoryStore(num_rows, row_bytes)
        return FileStore(tmp_path, name, num_rows, row_bytes, max_bytes)

    return make


def test_a_store_finds_what_was_kept(make_store):
    store = make_store()
    row = np.array([1, 2, 3], np.uint8)

    store.keep(2, row)
    store.keep(0, np.zeros(3, np.uint8))  # zeros are an image, too
    store.keep(4, row)  # beyond its bound
    rows, found = store.find(np.array([3, 2, 4, 0]))

    assert found.tolist() == [False, True, False, True]
    assert rows[1].tolist() == [1, 2, 3]
    assert rows[3].tolist() == [0, 0, 0]


def test_a_row_that_another_thread_keeps_meanwhile(make_store, monkeypatch):
    store = make_store()
    holds = store.holds

    def keep_and_hold(numbers):
        store.keep(2, np.array([1, 2, 3], np.uint8))
        return holds(numbers)

    monkeypatch.setattr(store, "holds", keep_and_hold)
    rows, found = store.find(np.array([2]))

    assert not found[0] or rows[0].tolist() == [1, 2, 3]


def test_a_file_is_shared_and_goes_on(tmp_path):
    store, other = (FileStore(tmp_path, "a", 4, 3, 1 << 20) for _ in range(2))
    store.keep(1, np.array([1, 2, 3], np.uint8))

    assert other.find(np.array([1]))[1].tolist() == [True]
    again = FileStore(tmp_path, "a", 4, 3, 1 << 20)
    assert again.find(np.array([0, 1]))[1].tolist() == [False, True]
    another = FileStore(tmp_path, "b", 4, 3, 1 << 20)
    assert another.find(np.array([1]))[1].tolist() == [False]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda file: file.truncate(9), id="cut within the row"),
        pytest.param(lambda file: (file.seek(8), file.write(b"x")), id="another byte"),
        pytest.param(
            lambda file: (row := file.read(7), file.seek(7), file.write(row)),
            id="the row of another record",
        ),
    ],
)
def test_a_row_that_is_not_whole_is_made_again(tmp_path, damage):
    store = FileStore(tmp_path, "a", 4, 3, 1 << 20)
    store.keep(0, np.array([4, 5, 6], np.uint8))
    store.keep(1, np.array([1, 2, 3], np.uint8))
    with (tmp_path / "a.images").open("r+b") as file:
        damage(file)
    again = FileStore(tmp_path, "a", 4, 3, 1 << 20)

    assert again.find(np.array([1]))[1].tolist() == [False]
    again.keep(1, np.array([1, 2, 3], np.uint8))
    assert again.find(np.array([1]))[1].tolist() == [True]


def test_unused_files_make_room(tmp_path):
    def full(name):
        store = FileStore(tmp_path, name, 4, 10_000, 90_000)
        for number in range(4):
            store.keep(number, np.full(10_000, 7, np.uint8))
        return store

    os.close(full("old")._file)
    os.utime(tmp_path / "old.images", (1, 1))
    used = full("used")

    assert used.find(np.arange(4))[1].all()
    newest = full("newest")

    assert not (tmp_path / "old.images").exists()
    assert used.find(np.arange(4))[1].all()
    assert newest.find(np.arange(4))[1].all()


@pytest.mark.parametrize(
    ("views", "expected"),
    [
        pytest.param(None, (100, 200), id="whole"),
        pytest.param(FLIPS, (100, 200), id="mirrored"),
        pytest.param(CROPS, (141, 283), id="half of the windows have half of the area"),
        pytest.param(Views(area=(0.5, 2.0)), (100, 200), id="as many larger windows as smaller"),
    ],
)
def test_the_size_of_what_is_kept(views, expected):
    assert stored_size(views, ImageSize(100, 200)) == expected


@pytest.mark.parametrize(
    ("asked", "views", "num_records", "place", "size"),
    [
        pytest.param(ImageCache(), None, 10, "memory", (10, 10), id="fits the memory"),
        pytest.param(ImageCache(), None, 100, "disk", (10, 10), id="fits the disk"),
        pytest.param(ImageCache(), None, 1000, "none", None, id="fits neither"),
        pytest.param(ImageCache(), CROPS, 10, "none", None, id="would change crops"),
        pytest.param(ImageCache(size=(9, 9)), CROPS, 10, "memory", (9, 9), id="size is given"),
        pytest.param(ImageCache(place="memory"), CROPS, 10, "memory", (14, 14), id="asked for"),
        pytest.param(ImageCache(place="disk"), None, 1000, "disk", (10, 10), id="a part fits"),
        pytest.param(
            ImageCache(place="none", size=(9, 9)), CROPS, 10, "none", (9, 9), id="only a size"
        ),
    ],
)
def test_the_place(monkeypatch, asked, views, num_records, place, size):
    monkeypatch.setattr(image_cache, "free_memory", lambda: 20_000)
    monkeypatch.setattr(image_cache, "free_space", lambda _: 200_000)

    chosen = resolve(asked, [IMAGE], views, ImageSize(10, 10), lambda: num_records)

    assert (chosen.place, chosen.size) == (place, size)


@pytest.mark.parametrize(
    ("asked", "need", "place"),
    [
        ("auto", {"num_bytes": 10}, "memory"),
        ("auto", {"num_bytes": 11}, "disk"),
        ("auto", {"num_bytes": 101}, "none"),
        ("auto", {"num_bytes": 1, "changes_crops": True}, "none"),
        ("auto", {"num_bytes": 1, "is_seen_again": False}, "none"),
        ("memory", {"num_bytes": 101, "changes_crops": True, "is_seen_again": False}, "memory"),
        ("disk", {"num_bytes": 1}, "disk"),
        ("none", {"num_bytes": 1}, "none"),
    ],
)
def test_only_auto_leaves_a_choice(asked, need, place):
    assert place_of(asked, Need(memory=10, disk=100, **need)) == place


def test_what_cannot_be_kept(dataset):
    with pytest.raises(ConfigError, match="cache='memory' keeps images of one size"):
        dataset.batches("train", batch_size=None, cache="memory")
    with pytest.raises(UnknownNameError, match="memroy"):
        dataset.batches("train", image_size=8, cache="memroy")
    with pytest.raises(ConfigError, match="name a folder of this machine"):
        ImageCache(folder="gs://bucket/images")


def images(batches):
    return np.concatenate([batch["image"] for batch in batches])


@pytest.mark.parametrize("dtype", first_quick(["float32", "uint8"]))
@pytest.mark.parametrize("views", first_quick([FLIPS, None]), ids=["mirrored", "whole"])
@pytest.mark.parametrize("place", first_quick(["memory", "disk"]))
def test_batches_are_equal_bit_for_bit(colors, tmp_path, views, place, dtype):
    """As float32, which is not rounded without the cache, but for the rounding."""
    dataset = trainer.open(colors)
    options = {"image_size": 16, "views": views, "shuffle": True, "seed": 3, "batch_size": 7}
    options["image_dtype"] = dtype
    cache = ImageCache(place=place, folder=str(tmp_path))
    expected = images(dataset.batches("train", repeat=3, **options))

    kept = images(dataset.batches("train", repeat=3, cache=cache, **options))
    # From the middle of a pass, with what another iteration has kept.
    rest = images(dataset.batches("train", repeat=3, first_record=70, cache=cache, **options))

    np.testing.assert_array_equal(rest, kept[70:])
    np.testing.assert_allclose(kept, expected, rtol=0, atol=0 if dtype == "uint8" else 0.501 / 255)


@pytest.mark.slow
def test_crops_are_equal_wherever_images_are_kept(colors, tmp_path):
    """They are views of the images at the stored size: kept in full, in part, or not at all."""
    options = {"image_size": 16, "views": CROPS, "shuffle": True, "seed": 3, "repeat": 2}
    size = stored_size(CROPS, ImageSize(16, 16))
    caches = [
        ImageCache(place="memory"),
        ImageCache(place="memory", max_bytes=20_000),
        ImageCache(place="disk", folder=str(tmp_path)),
        ImageCache(place="none", size=size),
        ImageCache(place="auto", size=size),
    ]

    first, *others = (
        images(trainer.open(colors).batches("train", cache=cache, **options)) for cache in caches
    )

    for other in others:
        np.testing.assert_array_equal(other, first)
    plain = images(trainer.open(colors).batches("train", **options))
    assert (plain != first).any()


@pytest.mark.slow
def test_an_image_is_decoded_once(colors):
    """What is kept is taken: here it is another image than that of the record."""
    dataset = trainer.open(colors)
    options = {"image_size": 16, "image_dtype": "uint8", "batch_size": None, "cache": "memory"}
    list(dataset.batches("validation", **options))
    (kept,) = dataset._stores._stores.values()
    kept.store._rows[:] = 99

    second = images(dataset.batches("validation", **options))

    assert (second == 99).all()
    shuffled = images(dataset.batches("validation", shuffle=True, **options))
    assert (shuffled == 99).all()


@pytest.mark.slow
def test_a_deterministic_run_looks_up_at_once(colors):
    """No operation of the chain is one that TensorFlow would run one after the other then."""
    batches = trainer.open(colors).batches("train", image_size=16, cache="memory", shuffle=True)
    graph = tf.compat.v1.GraphDef.FromString(batches._as_serialized_graph().numpy())
    names = {node.op for function in graph.library.function for node in function.node_def}

    assert "PyFuncStateless" in names
    assert not names & {"EagerPyFunc"}
