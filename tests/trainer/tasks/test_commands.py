"""`train` and `evaluate` on every kind of data, with or without metadata."""

import json
import sys

import pytest

LOSS = {"epoch", "step", "loss"}
CLASSES = LOSS | {"accuracy"}
MAPS = {"mIoU", "pixel_accuracy", "IoU/background", "IoU/red", "IoU/blue"}
NUMBERS = LOSS | {"mse", "mae"}


STEPS = "--epochs 1 --steps-per-epoch 2 --batch-size 8 --devices cpu --seed 1"


@pytest.fixture
def train(tmp_path, start):
    """A function (data, more options) to the result of two steps, and the output."""

    def run(data, *more, command="train", where="--output", steps=STEPS):
        place = ("--data", data, where, tmp_path / "run")
        code, out, err = start(command, *place, *steps.split(), *more)
        assert code == 0, err
        return json.loads(out), err

    return run


@pytest.fixture
def evaluate(train):
    """A function from data to the result."""
    return lambda data: train(data, command="evaluate", where="--run", steps="")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "more", "task", "metrics", "guess"),
    [
        ("text", "--pad caption=4", "text_classification", CLASSES, "accuracy"),
        ("sequence", "--devices cpu:2", "sequence_classification", CLASSES, "accuracy"),
        ("table", "--sample-weight weight", "tabular_classification", CLASSES, "accuracy"),
        ("table", "--task regression --inputs age", "regression", NUMBERS, "mae"),
        ("several labels", "", "tabular_classification", LOSS | {"f1", "exact"}, "f1"),
        ("segmentation", "--image-size 32 --devices cpu:2", "segmentation", LOSS, "mIoU"),
    ],
)
def test_each_task(kind, more, task, metrics, guess, directory_of, train, evaluate, tmp_path):
    data = directory_of(kind)

    result, said = train(data, *more.split())

    assert f"task {task}: from " in said
    assert {name for name in result if not name.startswith("val_")} == metrics
    evaluated = evaluate(data)
    ranked = {"auc"} if "accuracy" in metrics or "f1" in metrics else set()
    ranked |= MAPS if task == "segmentation" else set()
    expected = {*metrics, "num_records", *ranked, f"baseline_{guess}"} - {"epoch", "step"}
    assert set(evaluated) == expected
    assert evaluated["num_records"] == 13
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["task"] == task


@pytest.mark.slow
def test_weights_of_zero_leave_no_loss(directory_of, train):
    weighed, _ = train(directory_of("table"), "--inputs", "age", "--sample-weight", "zero")

    assert weighed["loss"] == 0


@pytest.mark.slow
def test_a_resumed_run_keeps_its_vocabulary(directory_of, train, tmp_path):
    train(directory_of("text"))
    file = tmp_path / "run" / "task.json"
    before = file.read_bytes()

    _, said = train(directory_of("text"), "--resume", "--epochs", "2")

    assert (tmp_path / "run" / "history.csv").read_text().count("\n") == 3
    assert "for statistics of" not in said
    assert file.read_bytes() == before


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
