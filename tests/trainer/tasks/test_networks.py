"""Models by name: sizes, preprocessing, weights, saving."""

import json
import subprocess
import sys
from urllib.error import URLError

import h5py
import keras
import numpy as np
import pytest
from keras.src.legacy.saving import legacy_h5_format
from testdata.make_golden import GOLDEN
from tiers import first_in_ci

from trainer.errors import ConfigError
from trainer.tasks import Task, models, pretrained
from trainer.tasks.inputs import ImageInput
from trainer.tasks.targets import BoxesTarget, OneClass


def build(name, side=32, weights=None, channels=3):
    image = ImageInput(name="image", height=side, width=side, channels=channels)
    goal = OneClass(name="label", classes=("a", "b"))
    task = Task(name="classification", inputs={"image": image}, goal=goal)
    return models.build(task, name, weights)


@pytest.mark.parametrize("side", [8, 32, 33, 128])
def test_the_small_model_takes_any_size(side):
    model = build("small", side)

    assert model(np.zeros((1, side, side, 3), "float32")).shape == (1, 2)
    assert model.count_params() < 500_000


@pytest.fixture(scope="module")
def mobilenet():
    return build("MobileNet")


def backbone_of(model):
    return next(layer for layer in model.layers if isinstance(layer, keras.Model))


@pytest.mark.slow
def test_an_application_has_its_preprocessing_inside(mobilenet):
    pixels = np.random.default_rng(1).integers(0, 256, (2, 32, 32, 3)).astype("float32")
    backbone = backbone_of(mobilenet)
    head = mobilenet.layers[-1]

    prepared = keras.applications.mobilenet.preprocess_input(pixels.copy())

    np.testing.assert_allclose(mobilenet(pixels / 255), head(backbone(prepared)), atol=1e-5)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["MobileNetV2", "EfficientNetB0"])
def test_an_application_learns_from_random_weights(
    start, write_dataset, colored_records, schema, tmp_path, name
):
    features = [schema[each] for each in ("image", "label", "number")]
    splits = {"train": colored_records(81), "validation": colored_records(39, first=81)}
    data = write_dataset(tmp_path / "colors/1.0.0", features, splits)
    options = "--image-size 32 --batch-size 8 --epochs 2 --steps-per-epoch 75 --seed 1"

    code, out, err = start(
        *("train", "--data", data, "--output", tmp_path / "run", "--model", name),
        *(*options.split(), "--devices", "cpu"),
    )

    assert code == 0, err
    assert json.loads(out)["val_accuracy"] > 0.8


def momenta(model):
    layers = model._flatten_layers()
    return {layer.momentum for layer in layers if hasattr(layer, "moving_mean")}


@pytest.mark.slow
def test_averages_of_batches_follow_a_short_training_in_a_saved_model_too(mobilenet, tmp_path):
    """With Keras's momentum they would need thousands of steps."""
    mobilenet.save(tmp_path / "model.keras")
    image = np.random.default_rng(1).random((1, 32, 32, 3), "float32")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    np.testing.assert_allclose(loaded(image), mobilenet(image), atol=1e-6)
    assert momenta(loaded) == {0.9}


@pytest.mark.slow
@pytest.mark.parametrize("weights", first_in_ci(["notop.weights.h5", "imagenet"]))
def test_weights_are_loaded_below_the_head(mobilenet, tmp_path, monkeypatch, weights):
    """imagenet's are read by Keras's own code, from a file like the one that it downloads."""
    backbone = backbone_of(mobilenet)
    (tmp_path / "models").mkdir()
    if weights == "imagenet":
        with h5py.File(tmp_path / "models/mobilenet_1_0_224_tf_no_top.h5", "w") as file:
            legacy_h5_format.save_weights_to_hdf5_group(file, backbone)
        monkeypatch.setattr("keras.src.backend.config._KERAS_DIR", str(tmp_path))
    else:
        weights = str(tmp_path / weights)
        backbone.save_weights(weights)

    loaded = backbone_of(build("MobileNet", weights=weights))

    for mine, theirs in zip(backbone.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert momenta(loaded) == {0.99}  # unchanged


def test_weights_that_keras_cannot_fetch(tmp_path, monkeypatch):
    def no_network(*_):
        raise URLError("Name or service not known")

    monkeypatch.setattr("keras.src.backend.config._KERAS_DIR", str(tmp_path))
    monkeypatch.setattr("keras.src.utils.file_utils.urlretrieve", no_network)
    with pytest.raises(ConfigError, match="cannot be fetched: URL fetch failure"):
        build("MobileNet", weights="imagenet")


def test_weights_of_another_model_are_refused(tmp_path):
    file = tmp_path / "other.weights.h5"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save_weights(file)

    with pytest.raises(ConfigError, match="--weights"):
        build("MobileNet", weights=str(file))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nothing", {}, "unknown --model 'nothing'; choose from: small, RetinaNet, Conv"),
        ("smal", {}, r"did you mean 'small'\?"),
        ("mobilenetv2", {}, r"did you mean 'MobileNetV2'\?"),
        ("small", {"weights": "w.h5"}, "leave it out"),
        ("Xception", {"side": 16}, "cannot take images of 16x16 .*; give another --image-size"),
        (
            *("MobileNet", {"weights": "imagenet", "channels": 1}),
            "with 1 channel: .*; leave out --weights",
        ),
        ("MobileNet", {"weights": "no.h5"}, "no.h5"),
        ("RetinaNet", {}, "--model RetinaNet is for detection, but the task is classification"),
    ],
)
def test_models_that_cannot_be(name, options, message):
    with pytest.raises(ConfigError, match=message):
        build(name, **options)


SCALE, OFFSET = [0.017, 0.018, 0.019], [-2.1, -2.0, -1.8]


def write_preset(folder, *, batch_norm):
    """Write a preset of a small encoder with random weights, and return the backbone."""
    hub = pytest.importorskip("keras_hub", exc_type=ImportError)
    encoder = hub.models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=[64, 64, 64, 64],
        stackwise_num_blocks=[1, 1, 1, 1],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="basic_block",
        image_shape=(None, None, 3),
    )
    backbone = hub.models.RetinaNetBackbone(
        image_encoder=encoder,
        min_level=3,
        max_level=7,
        use_p5=False,
        use_fpn_batch_norm=batch_norm,
        image_shape=(None, None, 3),
    )
    random = np.random.default_rng(7)
    backbone.set_weights(
        [random.uniform(0.0, 0.1, weight.shape) for weight in backbone.get_weights()]
    )
    backbone.save_to_preset(str(folder))
    hub.layers.RetinaNetImageConverter(
        image_size=(64, 64), scale=SCALE, offset=OFFSET, crop_to_aspect_ratio=False
    ).save_to_preset(str(folder))
    return backbone


@pytest.mark.readers
@pytest.mark.parametrize("batch_norm", first_in_ci([False, True]))
def test_its_maps_are_those_of_keras_hub(tmp_path, batch_norm):
    backbone = write_preset(tmp_path / "preset", batch_norm=batch_norm)
    image = keras.Input((64, 96, 3))
    strides = (8, 16, 32)
    levels = pretrained.retinanet_maps(image, strides, str(tmp_path / "preset"))
    pixels = np.random.default_rng(1).uniform(size=(2, 64, 96, 3)).astype("float32")

    expected = backbone(pixels * 255 * np.float32(SCALE) + np.float32(OFFSET))
    found = keras.Model(image, levels)(pixels)
    for level, values in zip(("P3", "P4", "P5"), found, strict=True):
        np.testing.assert_allclose(values, expected[level], rtol=1e-3, atol=1e-4)


@pytest.mark.readers
def test_a_detector_learns_from_them_and_is_read_without_keras_hub(tmp_path):
    write_preset(tmp_path / "preset", batch_norm=False)
    words = [
        *("train", "--data", GOLDEN, "--output", tmp_path / "run", "--target", "boxes"),
        *("--model", "RetinaNet", "--weights", tmp_path / "preset", "--head-epochs", "1"),
        *("--epochs", "2", "--image-size", "64", "--batch-size", "4", "--quiet"),
    ]
    row = json.loads(run(words).splitlines()[-1])
    assert np.isfinite(row["loss"])
    found = tmp_path / "found.jsonl"
    predict = ["predict", GOLDEN, "--run", tmp_path / "run", "--output", found, "--quiet"]
    without = "import sys; sys.modules['keras_hub'] = None; from trainer.commands import main; "
    run(predict, "-c", f"{without}sys.exit(main())")
    assert found.read_text()


def run(words, *start):
    command = [sys.executable, *(start or ("-m", "trainer")), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.readers
@pytest.mark.parametrize(
    ("model", "channels", "weights", "message"),
    [
        ("RetinaNet", 3, None, "give --weights coco, or the folder"),
        ("RetinaNet", 3, "nowhere", "'nowhere' cannot be read as keras_hub's RetinaNet"),
        ("RetinaNet", 1, "coco", "3 channels, but these have 1"),
        ("ResNet50", 3, "coco", "those of --model RetinaNet, but the model is ResNet50"),
    ],
)
def test_retinanets_that_cannot_be(model, channels, weights, message):
    pytest.importorskip("keras_hub", exc_type=ImportError)
    image = ImageInput(name="image", height=64, width=64, channels=channels)
    goal = BoxesTarget(name="boxes", height=64, width=64)
    task = Task(name="detection", inputs={"image": image}, goal=goal)
    with pytest.raises(ConfigError, match=message):
        models.build(task, model, weights)
