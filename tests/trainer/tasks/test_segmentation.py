"""Segmentation: the loss, and the model from images to the logits of all pixels."""

import csv
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import training
from PIL import Image as Pixels

import trainer
from trainer.commands import main
from trainer.errors import ConfigError
from trainer.tasks import Task, choose_task, models
from trainer.tasks.drawing import resized
from trainer.tasks.inputs import ImageInput
from trainer.tasks.reading import class_weights, training_batches
from trainer.tasks.targets import MapTarget
from trainer.tasks.targets.map_target import segmentation_loss

GOAL = MapTarget(name="map", classes=("sky", "tree", "house"), height=4, width=6)
RANDOM = np.random.default_rng(1)
LABELS = RANDOM.integers(0, 3, (4, 4, 6)).astype(np.uint8)
LABELS[0, :2] = 255
LABELS[1] = 255
LABELS[2, LABELS[2] == 2] = 0
OUTPUTS = RANDOM.normal(size=(4, 4, 6, 3)).astype(np.float32)


def by_hand(labels, outputs, weights=(1, 1, 1)):
    """Compute the loss of one image, pixel by pixel."""
    exponents = np.exp(outputs.astype(np.float64))
    probabilities = exponents / exponents.sum(axis=-1, keepdims=True)
    pixels = [place for place in np.ndindex(labels.shape) if labels[place] != 255]
    if not pixels:
        return 0.0
    loss = -np.mean(
        [weights[labels[place]] * np.log(probabilities[place][labels[place]]) for place in pixels]
    )
    coefficients = []
    for number in {labels[place] for place in pixels}:
        of_class = [place for place in pixels if labels[place] == number]
        both = sum(probabilities[place][number] for place in of_class)
        areas = len(of_class) + sum(probabilities[place][number] for place in pixels)
        coefficients.append(2 * both / areas)
    return loss + 1 - np.mean(coefficients)


def test_the_loss_is_a_mean_over_the_labelled_pixels_of_each_image():
    found = segmentation_loss(tf.constant(LABELS), tf.constant(OUTPUTS)).numpy()

    expected = [by_hand(*each) for each in zip(LABELS, OUTPUTS, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[1] == 0


def test_pixels_weigh_as_their_classes():
    weights = (0.5, 1.0, 4.0)
    target, of_records = GOAL.weighted(tf.constant(LABELS), tf.ones(4), tf.constant(weights))

    found = GOAL.loss(target, tf.constant(OUTPUTS)).numpy()

    expected = [by_hand(*each, weights) for each in zip(LABELS, OUTPUTS, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert of_records.numpy().tolist() == [1, 1, 1, 1]


def test_ignored_pixels_have_no_gradient():
    outputs = tf.Variable(OUTPUTS)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(segmentation_loss(tf.constant(LABELS), outputs))

    gradient = tape.gradient(loss, outputs).numpy()

    assert not gradient[LABELS == 255].any()
    assert np.isfinite(gradient).all()
    assert gradient[LABELS < 255].any(axis=-1).all()


def network(height, width, channels=3, *, classes=2, name=None):
    """Build a model for images of a size."""
    image = ImageInput(name="x", height=height, width=width, channels=channels)
    names = tuple(map(str, range(classes)))
    goal = MapTarget(name="map", classes=names, height=height, width=width)
    return models.build(Task(name="segmentation", inputs={"x": image}, goal=goal), name)


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        pytest.param("small", 3, id="small"),
        pytest.param("small", 1, id="one channel"),
        *(
            pytest.param(name, 3, id=name, marks=pytest.mark.nightly)
            for name in ("MobileNetV2", "ResNet50", "EfficientNetB0", "ConvNeXtTiny", "VGG16")
        ),
    ],
)
def test_logits_are_those_of_every_pixel(name, channels):
    model = network(64, 96, channels, classes=5, name=name)

    logits = model(np.random.default_rng(0).random((2, 64, 96, channels), np.float32))

    assert (logits.shape, logits.dtype) == ((2, 64, 96, 5), "float32")
    assert np.isfinite(logits).all()


def test_a_pixel_changes_what_is_said_of_its_surroundings():
    """In a new model, distant logits change less than those at the pixel."""
    keras.utils.set_random_seed(8)
    model = network(128, 128)
    image = np.zeros((1, 128, 128, 3), np.float32)
    changed = image.copy()
    changed[0, 20:24, 100:104] = 1.0

    difference = np.abs(model(changed) - model(image)).max(axis=-1)[0]

    assert difference[16:28, 96:108].mean() > 5 * difference[100:, :30].mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": (75, 100)}, "--image-size 100x75 is not a multiple of 32.*96x64"),
        ({"image_size": 64, "weights": "w.h5"}, "--weights is for models of keras.app"),
        ({"image_size": 96, "model": "Xception"}, "--model Xception has no feature map"),
    ],
)
def test_what_cannot_be_built_is_refused(choose, options, message):
    task, _ = choose("image map", **options)
    with pytest.raises(ConfigError, match=message):
        models.build(task, options.get("model"), options.get("weights"))


CLASSES = ("background", "red", "blue")
OPTIONS = ("--image-size", "32", "--batch-size", "8", "--epochs", "1", "--seed", "1")


@pytest.fixture(scope="module")
def data(directory_of):
    """Squares of two classes on noise: 40 train and 13 test records."""
    return directory_of("segmentation")


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A run of 40 steps."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    options = (*OPTIONS, "--steps-per-epoch", "40", "--devices", "cpu", "--quiet")
    assert main(["train", "--data", str(data), "--output", str(folder), *options]) == 0
    return folder


def found_by_hand(trained, data):
    """Return predicted classes at the model's size, [13, 32, 32], with only Keras and NumPy."""
    model = keras.models.load_model(trained / "model.keras", compile=False)
    dataset = trainer.open(data)
    (batch,) = dataset.batches("test", batch_size=13, image_size=32, image_dtype="uint8")
    images = batch["image"].numpy().astype(np.float32) / np.float32(255)
    return model.predict(images, verbose=0).argmax(axis=-1).astype(np.uint8)


@pytest.mark.slow
def test_predictions_are_maps_of_the_images_sizes(start, trained, data, tmp_path):
    found = found_by_hand(trained, data)
    rows, maps, drawn = tmp_path / "rows.jsonl", tmp_path / "maps", tmp_path / "drawn"

    code, _, err = start(
        *("predict", data, "--run", trained, "--output", rows, "--maps", maps, "--images", drawn)
    )

    assert code == 0, err
    records = [*trainer.open(data).numpy("test")]
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(lines) == len(records) == 13
    assert len({(each["width"], each["height"]) for each in lines}) > 5
    for line, record, classes in zip(lines, records, found, strict=True):
        size = record["image"].shape[:2]
        assert (line["height"], line["width"]) == size
        with Pixels.open(maps / line["map"]) as image:
            np.testing.assert_array_equal(np.asarray(image), resized(classes, size))
        with Pixels.open(drawn / line["map"]) as image:
            assert image.size == size[::-1]
        shares = {name: (classes == number).mean() for number, name in enumerate(CLASSES)}
        assert line["pixels"] == pytest.approx(
            {key: share for key, share in shares.items() if share}
        )

    code, _, err = start(
        *("predict", data, "--run", trained, "--output", tmp_path / "rows.csv", "--format", "csv")
    )
    assert code == 0, err
    table = [*csv.DictReader((tmp_path / "rows.csv").read_text().splitlines())]
    assert sum(float(row["pixels"]) for row in table) == pytest.approx(13)
    assert {row["class"] for row in table} <= set(CLASSES)


@pytest.mark.slow
def test_balanced_weights_are_by_pixels(data):
    dataset = trainer.open(data)
    task, _ = choose_task(dataset.features, training(image_size=32))
    (batch,) = dataset.batches("train", batch_size=40, image_size=32)
    counts = np.bincount(batch["segmentation"].numpy().ravel(), minlength=256)[:3]

    found = class_weights("balanced", task, dataset, "train")

    assert found == pytest.approx(counts.sum() / (3 * counts))


def test_changes_in_training_act_on_the_map_as_on_its_image(data):
    """In crops, flips, and beyond the image, colors stay with their classes."""
    dataset = trainer.open(data)
    task, _ = choose_task(dataset.features, training(image_size=64, augment="crop"))
    batches = training_batches(task, dataset, "train", batch_size=40, seed=3)

    inputs, target = next(iter(batches))

    (image,) = inputs.values()
    assert image.dtype == np.uint8  # a quarter of the bytes for the device
    image, target = image.numpy().astype(int), target.numpy()
    assert (image.shape, target.shape, target.dtype) == ((40, 64, 64, 3), (40, 64, 64), np.uint8)
    means = [image[target == number].mean(axis=0) for number in range(3)]
    np.testing.assert_allclose(means, [[90] * 3, [200, 80, 60], [60, 90, 210]], atol=12)
    is_grey = (image == 114).all(axis=-1)
    assert is_grey.mean() > 0.02
    assert (target[is_grey] == 255).mean() > 0.95
