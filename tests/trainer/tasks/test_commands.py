"""`train` and `evaluate` on every kind of data, described or bare."""

import json
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.__main__ import main

CLASSES = {"epoch", "step", "loss", "accuracy"}
MAPS = {"mIoU", "pixel_accuracy", "IoU/background", "IoU/red", "IoU/blue"}
NUMBERS = {"epoch", "step", "loss", "mse", "mae"}


@pytest.fixture
def train(tmp_path, capsys):
    """A function (data, more options) to the result of two steps, and what was said."""

    def run(data, *more):
        options = [
            *("train", "--data", str(data), "--output", str(tmp_path / "run"), "--epochs", "1"),
            *("--steps-per-epoch", "2", "--batch-size", "8", "--devices", "cpu", "--seed", "1"),
            *more,
        ]
        code = main(options)
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return json.loads(captured.out), captured.err

    return run


@pytest.fixture
def evaluate(tmp_path, capsys):
    """A function (data, more options) to the result."""

    def run(data, *more):
        code = main(["evaluate", "--data", str(data), "--run", str(tmp_path / "run"), *more])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return json.loads(captured.out)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "more", "task", "metrics"),
    [
        pytest.param("image_metadata", [], "image_metadata", CLASSES),
        pytest.param("audio", [], "audio_classification", CLASSES),
        pytest.param("text", ["--pad", "caption=4"], "text_classification", CLASSES),
        pytest.param(
            "sequence",
            ["--loop", "fit", "--devices", "cpu:2"],
            "sequence_classification",
            CLASSES,
        ),
        pytest.param("array", [], "array_classification", CLASSES),
        pytest.param(
            "table",
            ["--sample-weight", "weight", "--devices", "cpu:2"],
            "tabular_classification",
            CLASSES,
        ),
        pytest.param("two numbers", [], "regression", NUMBERS),
        pytest.param(
            "several labels",
            [],
            "tabular_classification",
            {"epoch", "step", "loss", "f1", "exact"},
        ),
        pytest.param(
            "table",
            ["--as", "number", "--inputs", "age"],
            "regression",
            NUMBERS,
        ),
        pytest.param(
            "segmentation",
            ["--image-size", "32", "--loop", "fit", "--devices", "cpu:2", "--dice", "0.5"],
            "segmentation",
            {"epoch", "step", "loss"},
        ),
    ],
)
def test_each_task(kind, more, task, metrics, directory_of, train, evaluate, tmp_path):
    data = directory_of(kind)

    result, said = train(data, *more)

    assert f"task {task}: from " in said
    assert set(result) == metrics
    evaluated = evaluate(data)
    ranked = {"auc"} if "accuracy" in metrics or "f1" in metrics else set()
    ranked |= MAPS if task == "segmentation" else set()
    assert set(evaluated) == metrics - {"epoch", "step"} | {"num_records"} | ranked
    assert evaluated["num_records"] == 13
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["task"] == task


@pytest.mark.parametrize(
    ("kind", "more", "task"),
    [
        pytest.param(
            "image_metadata",
            ["--image-size", "12"],
            "image_metadata",
            marks=pytest.mark.slow,
        ),
        pytest.param("audio", [], "audio_classification", marks=pytest.mark.slow),
        pytest.param("text", [], "text_classification", marks=pytest.mark.slow),
        pytest.param("sequence", [], "sequence_classification", marks=pytest.mark.slow),
        pytest.param("table", ["--target", "y"], "tabular_classification", marks=pytest.mark.slow),
    ],
)
def test_bare_files(kind, more, task, directory_of, train, evaluate, tmp_path):
    files = directory_of(kind) / "tiny-*.tfrecord-*"

    _, said = train(files, *more)

    assert f"task {task}: from " in said
    assert json.loads((tmp_path / "run" / "task.json").read_text())["target"]["classes"] == [
        "0",
        "1",
    ]
    assert evaluate(files)["num_records"] == 13


def an_image(number, label):
    pixels = np.random.default_rng(number).integers(0, 128, (20, 16 + number % 3, 3)) + 100 * label
    return bytes(tf.io.encode_jpeg(pixels.astype(np.uint8)).numpy())


def a_sound(number, label):
    time_s = np.arange(1000 + 100 * (number % 5)) / 8000
    samples = np.sin(2 * np.pi * (300 + 500 * label) * time_s).astype(np.float32)
    return bytes(tf.audio.encode_wav(samples[:, None], 8000).numpy())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("record", "more", "said"),
    [
        pytest.param(
            lambda number, label: {"image": an_image(number, label), "label": label},
            ["--image-size", "16"],
            "task classification: from image (image) to label (class_label)",
            id="images",
        ),
        pytest.param(
            lambda number, label: {
                "audio": a_sound(number, label),
                "speaker_id": label,
                "timestamp": 1.7e9 + number,
            },
            ["--target", "speaker_id", "--devices", "cpu:2"],
            "task audio_classification: from audio (audio) to speaker_id (scalar of int64)",
            id="sounds of speakers",
        ),
        pytest.param(
            lambda number, label: {
                "image": np.random.default_rng(number)
                .normal(label, 1, (64, 64))
                .astype("<f4")
                .tobytes(),
                "label": label,
            },
            [],
            "task array_classification: from image (tensor of float32) to label (class_label)",
            id="raw arrays",
        ),
        pytest.param(
            lambda number, label: {
                "image_raw": an_image(number, label),
                "label": label,
                "height": 20,
                "width": 16 + number % 3,
                "caption": b"a tower",
            },
            ["--image-size", "16"],
            "left out: caption (text), height (scalar of int64), width (scalar of int64)",
            id="images and what is known of them",
        ),
    ],
)
def test_files_as_tutorials_write_them(
    record, more, said, write_records, train, evaluate, tmp_path
):
    records = [record(number, number % 2) for number in range(24)]
    for part in range(2):
        write_records(tmp_path / f"data_{part}.tfrecord", records[part::2])
    files = tmp_path / "data_*.tfrecord"

    _, stderr = train(files, *more)

    assert said in stderr
    assert evaluate(files)["num_records"] == 24


@pytest.mark.slow
def test_padding_is_fixed_as_asked(directory_of, train, tmp_path):
    train(directory_of("sequence"), "--pad", "sequence=4")

    model = keras.models.load_model(tmp_path / "run" / "model.keras")
    assert model.input_shape == (None, 4)


@pytest.mark.slow
def test_weights_of_zero_leave_no_loss(directory_of, train):
    weighed, _ = train(directory_of("table"), "--inputs", "age", "--sample-weight", "zero")

    assert weighed["loss"] == 0


@pytest.mark.slow
def test_a_resumed_run_keeps_its_vocabulary(directory_of, train, tmp_path):
    train(directory_of("text"))
    file = tmp_path / "run" / "task.json"
    before = file.read_bytes()

    result, said = train(directory_of("text"), "--resume", "--epochs", "2")

    assert result["epoch"] == 2
    assert "for statistics of" not in said
    assert file.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["audio", "text", "image_metadata"])
def test_a_resumed_run_is_equal_to_one_that_did_not_stop(kind, directory_of, train, tmp_path):
    def weights():
        model = keras.models.load_model(tmp_path / "run" / "model.keras")
        return np.concatenate([np.ravel(each) for each in model.get_weights()])

    train(directory_of(kind), "--deterministic", "--epochs", "2")
    whole = weights()
    train(directory_of(kind), "--deterministic", "--overwrite")
    train(directory_of(kind), "--deterministic", "--resume", "--epochs", "2")

    np.testing.assert_array_equal(weights(), whole)


OWN = """
import keras

def model_fn(task):
    (each,) = task.inputs.values()
    x = ids = keras.Input(each.shape, dtype=each.dtype)
    x = keras.layers.Embedding(each.num_tokens, 4, mask_zero=True)(x)
    x = keras.layers.GRU(4, use_cudnn=False)(x)
    return keras.Model(ids, keras.layers.Dense(task.num_outputs)(x), name="own")
"""


@pytest.mark.slow
def test_a_model_of_the_users(directory_of, train, evaluate, tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)

    _, said = train(directory_of("sequence"), "--model-fn", "own_models:model_fn")

    sys.modules.pop("own_models")
    assert "own: " in said
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["options"]["model_fn"] == "own_models:model_fn"
    assert evaluate(directory_of("sequence"))["num_records"] == 13
