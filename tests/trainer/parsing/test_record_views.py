"""One view of a record's image, mask, boxes, labels and keypoints."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_examples import example
from tiers import first_in_ci

from tfrecord_dataset.format.declaration import features_from_json
from trainer import parsing
from trainer.views import Views

FEATURES = [
    *features_from_json(
        [
            {
                **{"name": "boxes", "kind": "boxes", "key": "b", "classes": ["a", "b"]},
                **{"keypoints": 2, "keypoint_flips": [1, 0], "geometry": ["mask", "polygon"]},
            },
            {"name": "image", "kind": "image", "key": "image"},
            {"name": "mask", "kind": "image", "key": "mask", "shape": [None, None, 1]},
            {"name": "age", "kind": "scalar", "dtype": "int64"},
        ]
    ).values()
]
BOXES = np.array([[0.1, 0.1, 0.4, 0.5], [0.6, 0.5, 0.9, 0.9]])


@pytest.fixture(scope="module")
def record():
    """A JPEG of 96 x 128, and a mask of half the size, both white in the first box."""
    mask = np.zeros((48, 64, 1), np.uint8)
    mask[5:24, 6:26] = 255
    image = np.full((96, 128, 3), 90, np.uint8)
    image[10:48, 13:51] = 250

    sides = dict(zip(("xmin", "ymin", "xmax", "ymax"), BOXES.T, strict=True))
    features = {
        "image": tf.io.encode_jpeg(image, quality=95).numpy(),
        "mask": tf.io.encode_png(mask).numpy(),
        "age": 7,
        "b/class/label": [1, 2],
        "b/keypoint/x": [0.2, 0.3],
        "b/keypoint/y": [0.3, 0.3],
        "b/keypoint/visibility": [2, 1],
        "b/keypoint/num": [2, 0],
        "b/mask": [tf.io.encode_png(mask // 255).numpy(), tf.io.encode_png(mask * 0).numpy()],
        "b/polygon": [b"[]", b"[]"],
        **{f"b/bbox/{side}": values for side, values in sides.items()},
    }
    return tf.constant(example(features))


DECODING = parsing.Decoding(
    image_size=(48, 64),
    image_dtype="uint8",
    views=Views(area=(0.3, 0.6), mirror=True, least_box_area=0.5),
    seed=5,
)


@pytest.fixture(scope="module")
def parse(record):
    """A function from (pass, number) to the record, parsed as in the input pipeline."""
    one = tf.function(parsing.parser(FEATURES, DECODING, "a misfit"), autograph=False)
    return lambda *key: {
        name: value.numpy() for name, value in one(record, tf.constant(key, tf.int64)).items()
    }


@pytest.mark.slow
def test_all_of_a_record_moves_together(parse):
    seen_boxes = set()
    for number in range(12):
        seen = parse(0, number)
        count = len(seen["boxes"])
        seen_boxes.add(tuple(seen["box_labels"].tolist()))

        assert seen["image"].shape == (48, 64, 3)
        assert seen["mask"].shape == (48, 64, 1)
        assert seen["age"] == 7
        assert 1 <= count == len(seen["box_labels"]) == len(seen["keypoints"])
        assert seen["masks"].shape == (count, 48, 64)
        assert "polygons" not in seen  # texts are not transformed
        if 0 in seen["box_labels"]:
            xmin, ymin, xmax, ymax = np.round(seen["boxes"][0] * [64, 48, 64, 48]).astype(int)
            inside = (slice(ymin + 3, ymax - 3), slice(xmin + 3, xmax - 3))
            assert (seen["image"][inside] > 200).mean() > 0.9
            assert (seen["mask"][inside] > 200).mean() > 0.9
            differs = (seen["masks"][0] == 1) != (seen["mask"][..., 0] > 127)
            assert differs.mean() < 0.01  # the mask has nearest pixels, the image means
            # In any mirrored view, the first point is on the left.
            left, right = seen["keypoints"][0]
            assert left[0] < right[0]
            assert (left[2], right[2]) in {(2, 1), (1, 2), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)}
            assert (seen["image"] > 200).mean() == pytest.approx(
                (seen["mask"] > 200).mean(), abs=0.06
            )
    assert {(0,), (1,)} <= seen_boxes  # each box is missing in some view


def noise(image, seed):
    assert image.dtype == tf.uint8
    return tf.cast(tf.random.stateless_uniform(image.shape, seed, 0, 256, tf.int32), tf.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("augment", first_in_ci([None, noise]))
def test_views_and_augmentation_depend_only_on_the_record_and_the_pass(record, augment):
    decoding = dataclasses.replace(DECODING, augment=augment, image_dtype="float32")
    parse = parsing.parser(FEATURES, decoding, "one that does not fit")

    first, again, next_pass, other = (
        parse(record, tf.constant(key))["image"].numpy() for key in ([0, 3], [0, 3], [1, 3], [0, 4])
    )

    assert first.dtype == np.float32
    assert augment is None or 0 <= first.min() < 0.05 < 0.95 < first.max() <= 1
    assert (first == again).all()
    assert (first != next_pass).any()
    assert (first != other).any()


MAPS = {"segmentation": (np.uint8, 255), "depth": (np.uint16, 0)}


@pytest.mark.parametrize("number", range(4))
def test_maps_are_seen_with_their_image_and_keep_their_numbers(number):
    """Every pixel of a map has a stored number, at the image pixel's position."""
    rows, columns = np.mgrid[:48, :64]
    pixels = np.stack([rows * 5, columns * 3, rows * 0], axis=-1).astype(np.uint8)
    numbers = {
        name: (rows // 12 * 10 + columns // 16)[..., None].astype(dtype) * (1 + 900 * (fill == 0))
        for name, (dtype, fill) in MAPS.items()
    }
    declared = [
        {"name": "depth", "kind": "map", "dtype": "uint16"},  # before its image
        {"name": "image", "kind": "image"},
        {"name": "segmentation", "kind": "map"},
    ]
    encoded = {name: tf.io.encode_png(each).numpy() for name, each in numbers.items()}
    record = tf.constant(example({"image": tf.io.encode_png(pixels).numpy(), **encoded}))
    decoding = dataclasses.replace(
        DECODING,
        image_dtype="float32",
        views=Views(area=(0.5, 2.0), mirror=True, upside_down=True),
    )
    parse = parsing.parser([*features_from_json(declared).values()], decoding, "no fit")

    seen = {name: each.numpy() for name, each in parse(record, tf.constant([0, number])).items()}

    is_inside = seen["image"][..., 2] < 0.01
    for name, (dtype, fill) in MAPS.items():
        assert seen[name].dtype == dtype
        assert seen[name].shape == (48, 64, 1)
        assert set(np.unique(seen[name])) <= {*np.unique(numbers[name]), fill}
        row, column = np.round(np.moveaxis(seen["image"][..., :2], -1, 0) * 255 / [[[5]], [[3]]])
        factor = numbers[name].max() // 33
        found = seen[name][..., 0] // factor
        is_near = (np.abs(found // 10 * 12 + 5.5 - row) < 8) & (
            np.abs(found % 10 * 16 + 7.5 - column) < 10
        )
        assert is_near[is_inside].mean() > 0.99
        beyond = seen[name][..., 0][~is_inside]
        assert (beyond == fill).sum() >= 0.95 * beyond.size


def test_whole_maps_have_their_own_size_and_numbers():
    rng = np.random.default_rng(0)
    numbers = {
        name: rng.integers(0, np.iinfo(dtype).max, (5, 7, 1), dtype, endpoint=True)
        for name, (dtype, _) in MAPS.items()
    }
    declared = {"segmentation": {"kind": "map"}, "depth": {"kind": "map", "dtype": "uint16"}}
    record = example({name: tf.io.encode_png(each).numpy() for name, each in numbers.items()})

    features = [*features_from_json(declared).values()]
    read = parsing.parser(features, parsing.Decoding(), "no fit")(tf.constant(record))

    for name, expected in numbers.items():
        assert read[name].dtype == expected.dtype
        np.testing.assert_array_equal(read[name], expected)
