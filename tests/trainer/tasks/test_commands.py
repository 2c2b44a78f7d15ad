"""`train` and `evaluate` on every kind of data, with or without metadata."""

import json
import shutil
import sys

import numpy as np
import pytest
from tiers import first_in_ci

from trainer.commands import main

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
    first_in_ci(
        [
            ("text", "--pad caption=4", "text_classification", CLASSES, "accuracy"),
            ("table", "--task regression --inputs age", "regression", NUMBERS, "mae"),
            ("segmentation", "--image-size 32 --devices cpu:2", "segmentation", LOSS, "mIoU"),
            ("several labels", "", "tabular_classification", LOSS | {"f1", "exact"}, "f1"),
            ("sequence", "--devices cpu:2", "sequence_classification", CLASSES, "accuracy"),
            ("table", "--sample-weight weight", "tabular_classification", CLASSES, "accuracy"),
        ],
        3,
    ),
)
def test_each_task(kind, more, task, metrics, guess, directory_of, train, evaluate, tmp_path):
    data = directory_of(kind)

    result, said = train(data, *more.split())

    assert f"task {task}: from " in said
    assert {name for name in result if not name.startswith("val_")} == metrics
    evaluated = evaluate(data)
    ranked = {"auc", "macro_f1", "recall"} if "accuracy" in metrics or "f1" in metrics else set()
    of_one = {"balanced_accuracy", "threshold"}
    of_one |= {f"{name}_interval" for name in ("accuracy", "macro_f1", "balanced_accuracy")}
    ranked |= of_one if "accuracy" in metrics else set()
    ranked |= {"rmse", "r2", "mae_interval", "rmse_interval"} if "mae" in metrics else set()
    ranked |= MAPS if task == "segmentation" else set()
    expected = {*metrics, "num_records", *ranked, f"baseline_{guess}"} - {"epoch", "step"}
    of_trees = {name for name in evaluated if name.startswith("boosted_trees_")}
    assert set(evaluated) - of_trees == expected
    assert evaluated["num_records"] == 13
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["task"] == task


@pytest.mark.nightly
def test_weights_of_zero_leave_no_loss(directory_of, train):
    weighed, _ = train(directory_of("table"), "--inputs", "age", "--sample-weight", "zero")

    assert weighed["loss"] == 0


@pytest.mark.nightly
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


LENGTHS = [1, 8, 2, 5] * 4


def words(name, folder, file, *more):
    """Return the words of a command on a file in a folder with a run; training has two steps."""
    where = ["--data", folder / file, "--output" if name == "train" else "--run", folder / "run"]
    return [*map(str, (name, *where, *(STEPS.split() if name == "train" else ()), *more))]


@pytest.fixture
def command(tmp_path, start):
    """A function (command, file, more options) to (exit code, stdout, stderr)."""
    return lambda name, file, *more: start(*words(name, tmp_path, file, *more))


@pytest.fixture(scope="module")
def weighed_run(tmp_path_factory, write_records):
    """A folder with a run and its training data, train.tfrecord."""
    folder = tmp_path_factory.mktemp("weighed")
    write_records(folder / "train.tfrecord", sequences(LENGTHS))
    assert main(words("train", folder, "train.tfrecord", "--sample-weight", "weight")) == 0
    return folder


@pytest.fixture
def trained(weighed_run, tmp_path):
    """Copies `weighed_run` to `tmp_path`."""
    shutil.copytree(weighed_run, tmp_path, dirs_exist_ok=True)


def sequences(lengths):
    rng = np.random.default_rng(3)
    return [
        {"sequence": rng.integers(0, 9, length).tolist(), "weight": 0.5, "label": number % 2}
        for number, length in enumerate(lengths)
    ]


WITHOUT_WEIGHT = [{"sequence": sequence["sequence"], "label": 1} for sequence in sequences(LENGTHS)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "message"),
    first_in_ci(
        [
            pytest.param(sequences([3]), None, id="one record"),
            pytest.param(
                [{"label": 1}], "'sequence' in the first records; choose from: label", id="missing"
            ),
            pytest.param(sequences([5] * 12), None, id="all of one length"),
            pytest.param(WITHOUT_WEIGHT, None, id="without the weight of the training"),
            pytest.param(
                [{"sequence": [0.5], "label": 1}], "key 'sequence' holds float32", id="another type"
            ),
        ],
        2,
    ),
)
def test_a_run_knows_what_its_inputs_are(
    records, message, command, trained, tmp_path, write_records
):
    write_records(tmp_path / "test.tfrecord", records)

    code, out, err = command("evaluate", "test.tfrecord")

    if message is None:
        assert code == 0, err
        assert json.loads(out)["num_records"] == len(records)
    else:
        assert code == 2
        assert message in err
        assert "The model was trained on these features; use data with the same ones" in err


@pytest.mark.slow
def test_a_resumed_run_knows_them_too_and_its_weight(command, trained, tmp_path, write_records):
    file = tmp_path / "run/task.json"
    before = file.read_bytes()

    code, _, err = command("train", "train.tfrecord", "--resume", "--epochs", "2")

    assert code == 0, err
    assert file.read_bytes() == before
    names = [each["name"] for each in json.loads(before)["features"]]
    assert names == ["sequence", "label", "weight"]

    write_records(tmp_path / "train.tfrecord", sequences([5] * 16))
    code, _, err = command("train", "train.tfrecord", "--resume", "--epochs", "3")

    assert code == 2
    assert "continue it with the same data" in err


@pytest.mark.nightly
def test_shards_of_a_directory_are_evaluated_by_what_it_said_of_them(
    command, tmp_path, directory_of
):
    data = directory_of("audio")  # with a stated sample rate and named classes
    assert command("train", data)[0] == 0

    code, out, err = command("evaluate", data / "tiny-test.tfrecord-*")

    assert code == 0, err
    assert json.loads(out)["num_records"] == 13


DECLARED = {
    "sequence": {"kind": "sequence", "dtype": "int64"},
    "label": {"kind": "class_label", "classes": ["even", "odd"]},
    "weight": {"kind": "scalar", "dtype": "float32", "default": 1},
}
AS_LIST = [{"name": name, **each} for name, each in DECLARED.items()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    first_in_ci(
        [
            pytest.param(DECLARED, id="by name"),
            pytest.param({"format_version": 1, "features": AS_LIST}, id="metadata.json"),
        ]
    ),
)
def test_a_schema_declares_what_bare_files_hold(schema, command, tmp_path, write_records):
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    records = sequences([5] * 16)
    del records[3]["weight"]  # it has a default
    write_records(tmp_path / "a.tfrecord", records)
    declared = ["--schema", tmp_path / "schema.json"]

    code, _, err = command("train", "a.tfrecord", "--sample-weight", "weight", *declared)

    assert code == 0, err
    assert "from sequence (sequence of int64) to label (class_label) of 2 classes" in err
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["classes"] == ["even", "odd"]
    assert command("train", "a.tfrecord", "--resume", "--epochs", "2")[0] == 0
    assert command("evaluate", "a.tfrecord", *declared)[0] == 0


@pytest.mark.slow
def test_evaluation_may_declare_another_key(command, trained, tmp_path, write_records):
    records = sequences(LENGTHS)
    renamed = [{"ids": record["sequence"], "label": record["label"]} for record in records]
    write_records(tmp_path / "test.tfrecord", renamed)
    schema = DECLARED | {"sequence": {"kind": "sequence", "dtype": "int64", "key": "ids"}}
    (tmp_path / "schema.json").write_text(json.dumps(schema | {"label": {"kind": "class_label"}}))

    assert command("evaluate", "test.tfrecord")[0] == 2
    assert command("evaluate", "test.tfrecord", "--schema", tmp_path / "schema.json")[0] == 0
