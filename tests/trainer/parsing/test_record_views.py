"""A record seen through one view: its image, mask, boxes, labels and keypoints."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_examples import example

from tfrecord_dataset.declaration import features_from_json
from trainer import parsing
from trainer.parsing.images import Image
from trainer.views import Views, draw

FEATURES = [
    *features_from_json(
        [
            {"name": "boxes", "kind": "boxes", "key": "b", "classes": ["a", "b"], "keypoints": 1},
            {"name": "image", "kind": "image", "key": "image"},
            {"name": "mask", "kind": "image", "key": "mask", "shape": [None, None, 1]},
            {"name": "age", "kind": "scalar", "dtype": "int64"},
        ]
    ).values()
]
BOXES = np.array([[0.1, 0.1, 0.4, 0.5], [0.6, 0.5, 0.9, 0.9]])


@pytest.fixture(scope="module")
def record():
    """A JPEG of 96 x 128, and a mask of half that size; both are white in the first box."""
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
        "b/keypoint/x": 0.25,
        "b/keypoint/y": 0.3,
        "b/keypoint/visibility": 2,
        "b/keypoint/num": [1, 0],
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
    """The record by (pass, number), as the input pipeline parses it."""
    one = tf.function(parsing.parser(FEATURES, DECODING, "one that does not fit"))
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
        assert 1 <= count == len(seen["box_labels"]) == len(seen["box_keypoints"])
        if 0 in seen["box_labels"]:
            xmin, ymin, xmax, ymax = np.round(seen["boxes"][0] * [64, 48, 64, 48]).astype(int)
            inside = (slice(ymin + 3, ymax - 3), slice(xmin + 3, xmax - 3))
            assert (seen["image"][inside] > 200).mean() > 0.9
            assert (seen["mask"][inside] > 200).mean() > 0.9
            assert (seen["image"] > 200).mean() == pytest.approx(
                (seen["mask"] > 200).mean(), abs=0.06
            )
    assert {(0,), (1,)} <= seen_boxes  # each has been left out in some view


@pytest.mark.slow
def test_a_view_depends_on_the_record_and_the_pass_alone(parse):
    first, again, next_pass, other = parse(0, 3), parse(0, 3), parse(1, 3), parse(0, 4)

    assert (first["image"] == again["image"]).all()
    assert (first["image"] != next_pass["image"]).any()
    assert (first["image"] != other["image"]).any()


@pytest.mark.slow
def test_augmentation_gets_the_viewed_image_and_a_seed_of_the_record(record):
    def noise(image, seed):
        assert image.dtype == tf.uint8
        return tf.cast(tf.random.stateless_uniform(image.shape, seed, 0, 256, tf.int32), tf.uint8)

    decoding = dataclasses.replace(DECODING, augment=noise, image_dtype="float32")
    parse = parsing.parser(FEATURES, decoding, "one that does not fit")

    images = [parse(record, tf.constant([0, number]))["image"].numpy() for number in (3, 3, 4)]

    assert images[0].dtype == np.float32
    assert 0 <= images[0].min() < 0.05 < 0.95 < images[0].max() <= 1
    assert (images[0] == images[1]).all()
    assert (images[0] != images[2]).any()


class Map(Image):
    """How a map of classes is to be read: its values are no numbers to average."""

    fill = 255
    nearest = True


@pytest.mark.parametrize("number", range(3))
def test_a_map_keeps_its_values(number):
    classes = np.random.default_rng(number).choice([0, 100, 200], (48, 64, 1)).astype(np.uint8)
    parsed = {"mask": tf.io.encode_png(classes)}
    decoding = dataclasses.replace(DECODING, views=Views(area=(0.3, 1.5)))

    def choose(image):
        return draw(decoding.views, tf.constant([0, number], tf.int64), image)

    seen, _ = Map().decode_view(FEATURES[2], parsed, decoding, choose)

    assert set(np.unique(seen["mask"])) <= {0, 100, 200, 255}
