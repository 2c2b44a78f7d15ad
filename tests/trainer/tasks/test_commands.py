"""`train` and `evaluate` on every kind of data, with or without metadata."""

import json
import shutil

import numpy as np
import pytest
from tiers import first_in_ci

from trainer.commands import main

# Metrics of evaluations.
CLASSES = (
    "accuracy accuracy_interval auc macro_f1 macro_f1_interval balanced_accuracy "
    "balanced_accuracy_interval recall threshold"
)
SEVERAL = "f1 exact auc macro_f1 recall"
MAPS = "mIoU pixel_accuracy IoU/background IoU/red IoU/blue"
NUMBERS = "mse mae mae_interval rmse rmse_interval r2"

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
            ("segmentation", "--image-size 32 --devices cpu:2", "segmentation", MAPS, "mIoU"),
            ("several labels", "", "tabular_classification", SEVERAL, "f1"),
            ("sequence", "--devices cpu:2", "sequence_classification", CLASSES, "accuracy"),
            ("table", "--sample-weight weight", "tabular_classification", CLASSES, "accuracy"),
        ],
        3,
    ),
)
def test_each_task(kind, more, task, metrics, guess, directory_of, train, evaluate):
    data = directory_of(kind)

    _, said = train(data, *more.split())

    assert f"task {task}: from " in said
    found = evaluate(data)
    of_trees = {name for name in found if name.startswith("boosted_trees_")}
    expected = {"loss", "num_records", f"baseline_{guess}", *metrics.split()}
    assert found.keys() - of_trees == expected
    assert found["num_records"] == 13


@pytest.mark.nightly
def test_weights_of_zero_leave_no_loss(directory_of, train):
    weighed, _ = train(directory_of("table"), "--inputs", "age", "--sample-weight", "zero")

    assert weighed["loss"] == 0


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


@pytest.mark.slow
def test_a_run_knows_what_its_inputs_are(command, trained, tmp_path, write_records):
    """One record, without the weight, of which other features would be inferred."""
    write_records(tmp_path / "test.tfrecord", [{"sequence": [3], "label": 1}])

    code, out, err = command("evaluate", "test.tfrecord")

    assert code == 0, err
    assert json.loads(out)["num_records"] == 1


@pytest.mark.slow
def test_a_resumed_run_knows_them_too_and_its_weight(command, trained, tmp_path, write_records):
    file = tmp_path / "run/task.json"
    before = file.read_bytes()

    code, _, err = command("train", "train.tfrecord", "--resume", "--epochs", "2")

    assert code == 0, err
    assert "for statistics of" not in err
    assert file.read_bytes() == before
    names = [each["name"] for each in json.loads(before)["features"]]
    assert names == ["sequence", "label", "weight"]

    write_records(tmp_path / "train.tfrecord", sequences([5] * 16))
    code, _, err = command("train", "train.tfrecord", "--resume", "--epochs", "3")

    assert code == 2
    assert "continue it with the same data" in err


DECLARED = {
    "sequence": {"kind": "sequence", "dtype": "int64"},
    "label": {"kind": "class_label", "classes": ["even", "odd"]},
    "weight": {"kind": "scalar", "dtype": "float32", "default": 1},
}


@pytest.mark.slow
def test_a_schema_like_metadata_declares_what_bare_files_hold(command, tmp_path, write_records):
    features = [{"name": name, **each} for name, each in DECLARED.items()]
    (tmp_path / "schema.json").write_text(json.dumps({"format_version": 1, "features": features}))
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
