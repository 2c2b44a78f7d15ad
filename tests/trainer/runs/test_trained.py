"""Models of runs: their history rows; untrusted and damaged ones are rejected by name.

No code in them is executed.
"""

import base64
import io
import json
import marshal
import shutil
import zipfile

import h5py
import keras
import numpy as np
import pytest

from trainer.errors import ConfigError, RunDamagedError, TrainerError
from trainer.report.history import Best
from trainer.runs.trained import load_model, row_of
from trainer.tasks import Task, models
from trainer.tasks.inputs.tabular import Numbers
from trainer.tasks.targets import OneClass

ROWS = [
    {"epoch": 1, "step": 5, "loss": 3.0, "val_loss": 2.0, "val_mAP": 0.1, "val_min_score": 0.2},
    {"epoch": 2, "step": 9, "loss": 2.0, "val_loss": 3.0, "val_mAP": 0.4, "val_min_score": 0.3},
    {"epoch": 3, "step": 13, "loss": 1.0, "val_loss": 4.0, "val_mAP": 0.2, "val_min_score": 0.4},
]


@pytest.mark.parametrize(
    ("which", "best", "expected"),
    [
        ("last", "loss:min", 0.4),
        ("best", "loss:min", 0.2),
        ("best", "mAP:max", 0.3),
        ("best", "mAP:min", 0.2),
    ],
)
def test_the_row_of_the_model_that_is_used(which, best, expected):
    assert row_of(ROWS, which, Best.parse(best))["val_min_score"] == expected


def test_without_validation_the_model_is_the_last():
    rows = [{"epoch": 1, "step": 5, "loss": 1.0}, {"epoch": 2, "step": 9, "loss": 2.0}]
    assert row_of(rows, "best", Best()) is rows[1]


CONFIG, WEIGHTS = "config.json", "model.weights.h5"
FIRST = "layers/dense/vars/0"  # in the weights file
TASK = Task(
    name="tabular_classification",
    inputs={name: Numbers(name=name, size=1, mean=(2.0,), variance=(4.0,)) for name in "ab"},
    goal=OneClass(name="label", classes=("a", "b", "c")),
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of TASK as saved by Keras."""
    file = tmp_path_factory.mktemp("saved") / "model.keras"
    keras.utils.set_random_seed(1)
    models.build(TASK).save(file)
    return file


@pytest.fixture
def changed(saved, tmp_path):
    """A function that returns a copy of the model with some parts replaced, by name."""

    def make(parts, compression=zipfile.ZIP_STORED):
        file = tmp_path / "model.keras"
        with zipfile.ZipFile(saved) as whole, zipfile.ZipFile(file, "w", compression) as archive:
            own = {name: whole.read(name) for name in whole.namelist()}
            for name, content in {**own, **parts}.items():
                archive.writestr(name, content)
        return file

    return make


def of_keras(name, config, module="keras.layers"):
    return {"module": module, "class_name": name, "config": config, "registered_name": None}


def sequential(layer):
    """Configuration of a model with one layer."""
    inputs = of_keras("InputLayer", {"batch_shape": [None, 1], "name": "a"})
    return of_keras("Sequential", {"name": "model", "layers": [inputs, layer]}, "keras")


def encoded(function):
    """A lambda as serialized by Keras."""
    code = base64.b64encode(marshal.dumps(function.__code__)).decode()
    return {"class_name": "__lambda__", "config": {"code": code, "defaults": None, "closure": None}}


ACTING = encoded(lambda x: __import__("os").mkdir("acted") or x)
FUNCTION = {"module": "os", "class_name": "function", "config": "mkdir", "registered_name": "mkdir"}
FETCH = {**FUNCTION, "module": "keras.utils", "config": "get_file", "registered_name": "get_file"}


def test_a_model_of_ours_is_loaded(saved):
    loaded = load_model(saved, TASK, "")

    values = {"a": np.ones([2, 1]), "b": np.zeros([2, 1])}
    expected = keras.models.load_model(saved)(values)
    np.testing.assert_array_equal(loaded(values), expected)


LAMBDA = {"name": "x", "arguments": {}}


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (
            of_keras("Lambda", {**LAMBDA, "function": ACTING}),
            "deserialization of a `Lambda` layer .* disallowed by default; REMEDY",
        ),
        (
            of_keras("Lambda", {**LAMBDA, "function": FETCH, "arguments": {"origin": "x"}}),
            "Cannot deserialize `keras.utils.get_file`",
        ),
        (of_keras("Dense", {"units": 1, "activation": FUNCTION}), "not locate function 'mkdir'"),
        (
            of_keras("StringLookup", {"name": "x", "vocabulary": "/etc/passwd"}),
            "a vocabulary file outside of the model archive",
        ),
        (of_keras("Mine", {}, "mine"), "Could not locate class 'Mine'"),
    ],
)
def test_what_could_act_is_refused(changed, tmp_path, monkeypatch, layer, reason):
    monkeypatch.chdir(tmp_path)
    file = changed({CONFIG: json.dumps(sequential(layer))})

    with pytest.raises(ConfigError, match=reason):
        load_model(file, TASK, "REMEDY")

    assert [each.name for each in tmp_path.iterdir()] == ["model.keras"]


def test_the_lambda_would_act_in_keras_itself(changed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layer = of_keras("Lambda", {"name": "x", "function": ACTING, "arguments": {}})
    file = changed({CONFIG: json.dumps(sequential(layer))})

    keras.models.load_model(file, safe_mode=False)

    assert (tmp_path / "acted").is_dir()


TEXTS = ("", "x", "{}", "[]", "null", "3", '"a"', '{"a":' * 100_000, b"\xff", b"\0")
NO_WEIGHTS = (b"", b"x", b"\x89HDF\r\n\x1a\n" + bytes(2000))


@pytest.mark.parametrize(
    ("part", "content"),
    [*((CONFIG, text) for text in TEXTS), *((WEIGHTS, weight) for weight in NO_WEIGHTS)],
)
def test_a_part_that_is_none(changed, part, content):
    with pytest.raises(ConfigError, match=r"model.keras cannot be loaded: .*; REMEDY"):
        load_model(changed({part: content}), TASK, "REMEDY")


def with_weights(content, change):
    handle = io.BytesIO(content)
    with h5py.File(handle, "a") as file:
        change(file)
    return handle.getvalue()


def replaced(value):
    def change(file):
        del file[FIRST]
        file[FIRST] = value

    return change


@pytest.mark.filterwarnings("ignore:Skipping nested container")  # from Keras, for other parts
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(replaced(np.zeros([7, 7], "float32")), r"shape.*\(7, 7\)", id="shape"),
        pytest.param(replaced(h5py.ExternalLink("/etc/passwd", "x")), "ExternalLink", id="link"),
        pytest.param(lambda file: file.clear(), "could not be loaded", id="none"),
    ],
)
def test_weights_that_are_not_the_models(changed, saved, change, reason):
    with zipfile.ZipFile(saved) as archive:
        weights = with_weights(archive.read(WEIGHTS), change)

    with pytest.raises(ConfigError, match=rf"cannot be loaded: .*{reason}"):
        load_model(changed({WEIGHTS: weights}), TASK, "")


@pytest.mark.parametrize("name", ["../climbed", "/tmp/climbed", "a/../../climbed", "a\\b"])
def test_a_part_for_another_place(changed, name):
    with pytest.raises(RunDamagedError, match=r"the name of a part is .*, not a path below"):
        load_model(changed({name: "x"}), TASK, "")


def test_a_bomb(changed):
    file = changed({WEIGHTS: bytes(1 << 20)}, zipfile.ZIP_DEFLATED)

    with pytest.raises(RunDamagedError, match=r"have 1,\d+,\d+ bytes, more than the file itself"):
        load_model(file, TASK, "")


def test_every_flipped_bit_is_found_or_does_nothing(changed):
    """Some bits, such as dates of parts, have no effect."""
    whole = changed({}).read_bytes()
    rng = np.random.default_rng(3)
    found = 0
    for place, bit in zip(rng.integers(len(whole), size=60), rng.integers(8, size=60), strict=True):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        file = changed({})
        file.write_bytes(content)
        try:
            loaded = load_model(file, TASK, "")
        except TrainerError:
            found += 1
            continue
        with zipfile.ZipFile(changed({})) as before:
            expected = before.read(WEIGHTS)
        file.write_bytes(content)
        with zipfile.ZipFile(file) as archive:
            assert archive.read(WEIGHTS) == expected
        assert loaded.output_shape == (None, 3)
    assert found > 50


def test_a_model_of_another_task(saved):
    other = Task(name="t", inputs={"a": TASK.inputs["a"]}, goal=TASK.goal)
    with pytest.raises(ConfigError, match=r"model.keras does not take the task's inputs, a float"):
        load_model(saved, other, "")
    other = Task(name="t", inputs=TASK.inputs, goal=OneClass(name="label", classes=("a", "b")))
    with pytest.raises(ConfigError, match=r"returns \(None, 3\), but the task needs \(None, 2\)"):
        load_model(saved, other, "")


@pytest.mark.parametrize(
    ("trained_on", "evaluated", "is_at_place"),
    [
        pytest.param("", "", True, id="its path"),
        pytest.param("..", "", True, id="below its path"),
        pytest.param("", "..", True, id="above its path"),
        pytest.param("", "copy", False, id="elsewhere"),
    ],
)
def test_a_dataset_that_changed_since_the_training_is_a_warning(
    run, table, start, tmp_path, trained_on, evaluated, is_at_place
):
    place = (table / evaluated).resolve()
    if evaluated == "copy":
        place = shutil.copytree(table, tmp_path / "copy")
    file = run / "config.json"
    config = json.loads(file.read_text())
    config["options"]["data"] = str((table / trained_on).resolve())
    file.write_text(json.dumps(config))
    assert "has changed" not in start("evaluate", "--data", place, "--run", run)[2]

    config["data"]["fingerprint"] = "eeeeeeee"
    file.write_text(json.dumps(config))

    code, _, said = start("evaluate", "--data", place, "--run", run)
    assert code == 0
    warning = f"warning: {table} has changed since {run} was trained: records of 'test' may be"
    assert (warning in said) == is_at_place


def test_an_input_of_predictions_is_not_overwritten(run, start, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("a\n0.5\n")
    (tmp_path / "link.csv").symlink_to(rows)

    for output in (rows, tmp_path / "link.csv"):
        code, _, said = start("predict", rows, "--run", run, "--output", output)
        assert (code, said) == (
            2,
            f"error: --output {output} is an input, too; name another file\n",
        )
    assert rows.read_text() == "a\n0.5\n"


def test_a_table_without_rows_is_a_warning(run, start, tmp_path):
    rows, output = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows.write_text("a\n")

    code, _, said = start("predict", rows, "--run", run, "--output", output, "--format", "csv")
    assert (code, output.read_text()) == (0, "source,prediction,probability\n")
    assert f"warning: no records in {rows}: nothing is predicted\n" in said
