"""Batches and NumPy records: names, shapes, values, and what is said of wrong arguments."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import trainer


@pytest.fixture(scope="module")
def dataset(colors):
    return trainer.open(colors)


@pytest.fixture(scope="module")
def boxed(tmp_path_factory, write_dataset, schema, png):
    """Three pictures with 2, 0 and 1 boxes, in one shard."""

    def record(boxes, labels):
        columns = [list(map(float, column)) for column in zip(*boxes, strict=True)] or [[]] * 4
        sides = zip(("xmin", "ymin", "xmax", "ymax"), columns, strict=True)
        return {
            "image/encoded": png(np.zeros((10, 12, 3))),
            **{f"image/object/bbox/{side}": column for side, column in sides},
            "image/object/class/label": labels,
            "image/object/difficult": [0] * len(labels),
            "image/object/area": [5.0] * len(labels),
        }

    records = [
        record([(0.1, 0.2, 0.3, 0.4), (0.5, 0.5, 1, 1)], [1, 2]),
        record([], []),
        record([(0, 0, 0.5, 0.5)], [2]),
    ]
    directory = tmp_path_factory.mktemp("boxed") / "1.0.0"
    features = [schema["image"], schema["boxes"]]
    return trainer.open(write_dataset(directory, features, {"train": records}, num_shards=1))


def numbers(batches):
    return [int(number) for batch in batches for number in batch["number"]]


@pytest.mark.parametrize(
    ("arguments", "dtype", "shape"),
    [
        pytest.param({"image_size": 16}, tf.float32, (8, 16, 16, 3), id="square"),
        pytest.param({"image_size": (16, 8)}, tf.float32, (8, 16, 8, 3), id="height, width"),
        pytest.param(
            {"image_size": 16, "image_dtype": "uint8"}, tf.uint8, (8, 16, 16, 3), id="uint8"
        ),
    ],
)
def test_batches_of_images(dataset, arguments, dtype, shape):
    batch = next(iter(dataset.batches("train", batch_size=8, **arguments)))

    assert set(batch) == {"image", "label", "number"}
    assert (batch["image"].dtype, tuple(batch["image"].shape)) == (dtype, shape)
    assert batch["label"].dtype == tf.int64
    assert batch["number"].shape == (8,)


def test_float_images_are_the_pixels_in_0_to_1(dataset):
    pixels = next(dataset.numpy("train", image_dtype="uint8"))["image"]
    scaled = next(dataset.numpy("train"))["image"]

    assert pixels.shape == (20, 24, 3)
    np.testing.assert_allclose(scaled, pixels / 255, atol=1e-7)


def test_batches_hold_every_record_once_in_the_written_order(dataset):
    batches = dataset.batches("train", batch_size=8, features=["number"])

    assert sorted(numbers(batches)) == list(range(50))
    assert numbers(batches)[:4] == [0, 3, 6, 9]  # the first of three shards
    assert [len(batch["number"]) for batch in batches] == [8] * 6 + [2]
    assert len(list(dataset.batches("train", batch_size=8, image_size=8, drop_remainder=True))) == 6


def test_shuffled_order_is_decided_by_the_seed(dataset):
    def order(seed):
        return numbers(
            dataset.batches(
                "train", batch_size=8, features=["number"], shuffle=True, seed=seed, repeat=2
            )
        )

    first, again, other = order(1), order(1), order(2)

    assert first == again
    assert first != other
    assert sorted(first[:50]) == sorted(first[50:]) == list(range(50))
    assert first[:50] != first[50:]  # another order each pass


@pytest.mark.parametrize("global_seed", [0, 1])
@pytest.mark.parametrize("shuffle_buffer", [7, 2048])
def test_tensorflows_global_seed_has_no_part_in_the_order(dataset, global_seed, shuffle_buffer):
    arguments = {
        "features": ["number"],
        "shuffle": True,
        "seed": 0,
        "shuffle_buffer": shuffle_buffer,
    }
    expected = numbers(dataset.batches("train", **arguments))

    keras.utils.set_random_seed(global_seed)

    assert numbers(dataset.batches("train", **arguments)) == expected
    assert sorted(expected) == list(range(50))


def test_without_seed_each_call_has_its_own_order(dataset):
    arguments = {"batch_size": 50, "features": ["number"], "shuffle": True}

    assert numbers(dataset.batches("train", **arguments)) != numbers(
        dataset.batches("train", **arguments)
    )


@pytest.mark.parametrize("first_record", [0, 1, 49, 50, 73])
def test_the_order_goes_on_from_any_record(dataset, first_record):
    arguments = {"batch_size": 10, "features": ["number"], "shuffle": True, "seed": 3}
    whole = numbers(dataset.batches("train", repeat=3, **arguments))

    rest = numbers(dataset.batches("train", repeat=3, first_record=first_record, **arguments))

    assert rest == whole[first_record:]


def test_cardinality_is_known(dataset):
    assert int(dataset.batches("train", batch_size=8, image_size=8).cardinality()) == 7
    endless = dataset.batches("train", image_size=8, repeat=True, shuffle=True)
    assert int(endless.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_numpy_yields_records(dataset):
    records = list(dataset.numpy("test", image_size=8))

    assert len(records) == 7
    assert isinstance(records[0]["image"], np.ndarray)
    assert sorted(int(record["number"]) for record in records) == list(range(63, 70))
    assert {int(record["label"]) for record in records} == {0, 1, 2}


def test_padded_boxes(boxed):
    batch = next(iter(boxed.batches(batch_size=3, image_size=8)))

    assert set(batch) == {"image", "boxes", "box_labels", "box_difficult", "box_area"}
    assert batch["boxes"].shape == (3, 2, 4)
    np.testing.assert_allclose(
        batch["boxes"][2], [(0, 0, 0.5, 0.5), (-1, -1, -1, -1)], rtol=0, atol=1e-6
    )
    assert batch["box_labels"].numpy().tolist() == [[0, 1], [-1, -1], [1, -1]]
    assert batch["box_difficult"].numpy().tolist() == [[0, 0], [-1, -1], [0, -1]]
    assert batch["box_area"].numpy().tolist() == [[5, 5], [-1, -1], [5, -1]]


def test_boxes_padded_to_a_given_number(boxed):
    batch = next(iter(boxed.batches(batch_size=3, image_size=8, max_boxes=5)))

    assert batch["boxes"].shape == (3, 5, 4)
    assert batch["box_labels"].shape == (3, 5)
    assert boxed.batches(batch_size=3, image_size=8, max_boxes=5).element_spec[
        "boxes"
    ].shape.as_list() == [None, 5, 4]


def test_more_boxes_than_the_given_number_are_an_error(boxed):
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"boxes of a record is longer than the 1 that pad .*\[2\]",
    ):
        list(boxed.batches(batch_size=3, image_size=8, max_boxes=1))


def test_ragged_boxes(boxed):
    batch = next(iter(boxed.batches(batch_size=3, image_size=8, boxes="ragged")))

    assert isinstance(batch["boxes"], tf.RaggedTensor)
    assert batch["boxes"].row_lengths().numpy().tolist() == [2, 0, 1]
    assert batch["box_labels"].to_list() == [[0, 1], [], [1]]
    assert batch["image"].shape == (3, 8, 8, 3)


def test_numpy_boxes_are_never_padded(boxed):
    assert [record["boxes"].shape for record in boxed.numpy()] == [(2, 4), (0, 4), (1, 4)]


def test_keypoints(tmp_path, write_dataset, schema):
    boxes = {**schema["boxes"], "attributes": {}, "keypoints": 2}
    record = {
        **{f"image/object/bbox/{side}": [0.0, 0.5] for side in ("xmin", "ymin", "xmax", "ymax")},
        "image/object/class/label": [1, 2],
        "image/object/keypoint/x": [0.1, 0.2],
        "image/object/keypoint/y": [0.3, 0.4],
        "image/object/keypoint/visibility": [2, 1],
        "image/object/keypoint/num": [2, 0],
    }
    directory = write_dataset(tmp_path / "1.0.0", [boxes], {"train": [record]}, num_shards=1)

    keypoints = next(iter(trainer.open(directory).batches()))["box_keypoints"]

    expected = [[[(0.1, 0.3, 2), (0.2, 0.4, 1)], [(-1, -1, -1), (-1, -1, -1)]]]
    np.testing.assert_allclose(keypoints, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_columns_of_every_plain_type(tmp_path, write_records, batch_size):
    records = [{"age": 7, "mass": 0.5, "raw": b"\x00", "caption": "häß".encode(), "label": 1}] * 2
    write_records(tmp_path / "a.tfrecord", records)
    dataset = trainer.open(
        tmp_path / "a.tfrecord",
        features={
            "age": {"kind": "scalar", "dtype": "int64"},
            "mass": {"kind": "scalar", "dtype": "float32"},
            "raw": {"kind": "scalar", "dtype": "bytes"},
            "caption": {"kind": "text"},
            "label": {"kind": "class_label", "classes": ["a", "b"]},
        },
    )

    element = next(dataset.batches(batch_size=batch_size).as_numpy_iterator())

    expected = {"age": 7, "mass": 0.5, "raw": b"\x00", "caption": "häß".encode(), "label": 1}
    if batch_size is None:
        assert element == expected
    else:
        assert {name: list(value) for name, value in element.items()} == {
            name: [value] * 2 for name, value in expected.items()
        }


@pytest.mark.parametrize(
    ("arguments", "inputs", "target"),
    [
        pytest.param(
            {"features": ["image", "label"], "target": "label"}, tf.Tensor, tf.Tensor, id="one"
        ),
        pytest.param({"target": "label"}, {"image", "number"}, tf.Tensor, id="several inputs"),
        pytest.param(
            {"target": ["label", "number"]}, tf.Tensor, {"label", "number"}, id="several targets"
        ),
    ],
)
def test_inputs_and_target(dataset, arguments, inputs, target):
    pair = next(iter(dataset.batches("train", image_size=8, **arguments)))

    for part, expected in zip(pair, (inputs, target), strict=True):
        if isinstance(expected, set):
            assert set(part) == expected
        else:
            assert isinstance(part, expected)


def test_keras_fits_a_plain_image_model(dataset):
    batches = dataset.batches(
        "train", batch_size=16, features=["image", "label"], image_size=(8, 8), target="label"
    )
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    history = model.fit(batches, epochs=2, shuffle=False, verbose=0)

    assert history.history["loss"][1] < history.history["loss"][0]


def test_images_of_a_declared_size_batch_without_image_size(tmp_path, write_records, png):
    write_records(tmp_path / "a.tfrecord", [{"image": png(np.full((4, 6, 3), 9))}] * 2)
    declared = {"image": {"kind": "image", "shape": [4, 6, 1]}}
    dataset = trainer.open(tmp_path / "a.tfrecord", features=declared)

    batch = next(iter(dataset.batches(batch_size=2, image_dtype="uint8")))

    assert batch["image"].shape == (2, 4, 6, 1)
    assert int(batch["image"][0, 0, 0, 0]) == 9


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        pytest.param({"split": "tain"}, trainer.UnknownNameError, "'train'", id="split"),
        pytest.param({}, trainer.ConfigError, "several splits", id="no split named"),
        pytest.param(
            {"split": "train", "features": ["lable"]},
            trainer.UnknownNameError,
            r"did you mean 'label'\?",
            id="feature",
        ),
        pytest.param({"split": "train", "features": []}, trainer.ConfigError, "no feature"),
        pytest.param(
            {"split": "train", "image_size": 8, "target": "lebel"},
            trainer.UnknownNameError,
            r"did you mean 'label'\?",
            id="target",
        ),
        pytest.param(
            {"split": "train", "features": ["label"], "target": "label"},
            trainer.ConfigError,
            "leaves no input",
            id="nothing but a target",
        ),
        pytest.param({"split": "train"}, trainer.ConfigError, "differ in size", id="sizes"),
        pytest.param(
            {"split": "train", "image_size": 8, "batch_size": 0},
            trainer.ConfigError,
            "batch_size=0",
            id="batch of nothing",
        ),
        pytest.param(
            {"split": "train", "features": "number", "repeat": -1},
            trainer.ConfigError,
            "repeat=-1 .* repeat=True",
            id="passes",
        ),
        pytest.param(
            {"split": "train", "features": "number", "first_record": -1},
            trainer.ConfigError,
            "first_record=-1 is negative",
            id="before the first",
        ),
        pytest.param(
            {"split": "train", "features": "number", "repeat": 2, "first_record": 101},
            trainer.ConfigError,
            r"beyond 2 pass\(es\) over 50 records",
            id="behind the last",
        ),
        pytest.param(
            {"split": "train", "image_size": 8, "image_dtype": "uint16"},
            trainer.UnknownNameError,
            "uint16",
            id="image dtype",
        ),
    ],
)
def test_wrong_arguments(dataset, arguments, error, message):
    with pytest.raises(error, match=message):
        dataset.batches(**arguments)


def test_a_record_too_few_is_found(colors, tmp_path, write_records):
    dataset = trainer.open(colors)
    short = tmp_path / "short.tfrecord"
    write_records(short, [{"number": 1}])
    split = trainer.Split(name="train", files=(str(short),), num_records=2)
    damaged = trainer.Dataset(
        path="short", features={"number": dataset.features["number"]}, splits={"train": split}
    )

    with pytest.raises(tf.errors.FailedPreconditionError, match="expected to contain 2"):
        list(damaged.batches())
