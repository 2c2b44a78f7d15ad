"""Untrusted runs execute no code and open no places that the command does not name."""

import sys

import pytest
from run_files import COMMANDS, seal, unsealed
from tiers import first_in_ci

from trainer.errors import UntrustedRunError
from trainer.options.train_options import TrainConfig, check_named

RUN = {"data": "D", "output": "R"}
MODULE = """
import pathlib

import keras

pathlib.Path("acted").touch()


def model_fn(task):
    (name, each), = task.inputs.items()
    inputs = keras.Input(each.shape, dtype=each.dtype, name=name)
    x = keras.layers.Dense(128, activation="relu")(inputs)
    x = keras.layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, keras.layers.Dense(task.num_outputs)(x))
"""


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"data": "/data/cells"}, None, id="data on this machine"),
        pytest.param({"data": "s3://b/cells"}, "--data s3://b/cells", id="data elsewhere"),
        pytest.param({"schema": "http://h/s.json"}, "--schema http://h/s.json", id="schema"),
        pytest.param({"model": "VGG16", "weights": "gs://b/w"}, "--weights gs://b/w", id="weights"),
        pytest.param({"cache_dir": "/home/me"}, "--cache-dir /home/me", id="a folder to write in"),
        pytest.param(
            {"model_fn": "c; d:e", "data": "s3://b/c"},
            "--model-fn 'c; d:e' --data s3://b/c",
            id="several, quoted",
        ),
    ],
)
def test_what_could_act_is_to_be_named(options, missing):
    config = TrainConfig(**{**RUN, **options})
    check_named(config, options.keys(), "R")
    if missing is None:
        check_named(config, (), "R")
    else:
        with pytest.raises(UntrustedRunError) as raised:
            check_named(config, ("output",), "R")
        assert f"does not: add {missing}, if you trust who made the run" in str(raised.value)


@pytest.fixture
def acting(run, tmp_path, monkeypatch):
    """A function that makes the run name a function, in a module with effects on import."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "somebodys.py").write_text(MODULE)

    def name():
        record = unsealed(run / "config.json")
        record["options"] |= {"model": None, "model_fn": "somebodys:model_fn"}
        record["own"] = {"loss": "somebodys:loss"}
        seal(run / "config.json", record)
        return run

    yield name
    sys.modules.pop("somebodys", None)


@pytest.mark.parametrize("name", first_in_ci(COMMANDS))
def test_no_command_imports_what_only_the_run_names(acting, command, tmp_path, capsys, name):
    run = acting()

    code = command(name, run)

    message = capsys.readouterr().err
    if name == "resume":
        assert (code, "add --model-fn somebodys:model_fn" in message) == (2, True)
    else:  # does not need it
        assert code == 0, message
    assert not (tmp_path / "acted").exists()
    assert "somebodys" not in sys.modules


def test_a_run_with_a_loss_of_its_own_is_continued_from_python(acting, command, capsys):
    run = acting()

    assert command("resume", run, "--model-fn", "somebodys:model_fn") == 2
    message = capsys.readouterr().err
    assert "loss is not given, but the run in" in message
    assert "has somebodys:loss; continue it with the same data and parts" in message


@pytest.mark.parametrize(
    "name",
    first_in_ci(["resume", *COMMANDS[1:]]),
)
def test_no_command_asks_an_address_that_only_the_run_names(command, run, bucket, capsys, name):
    url, store = bucket
    record = unsealed(run / "config.json")
    for option in ("data", "schema"):
        record["options"][option] = f"{url}/{option}.json"
        store.put(f"{url}/{option}.json", b"{}")
    seal(run / "config.json", record)

    assert command(name, run) == (2 if name == "resume" else 0), capsys.readouterr().err
    assert store.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("name", first_in_ci(["evaluate", "predict", "export"]))
def test_what_is_named_again_is_used(acting, command, tmp_path, name):
    assert command(name, acting(), "--model-fn", "somebodys:model_fn") == 0
    assert (tmp_path / "acted").exists()


def test_layers_of_ones_own_are_asked_for(acting, command, run, tmp_path, capsys):
    """Only the module registers a layer of the model."""
    import keras

    @keras.saving.register_keras_serializable(package="somebodys")
    class Doubled(keras.layers.Layer):
        def call(self, x):
            return 2 * x

    acting()
    (tmp_path / "somebodys.py").write_text(
        MODULE + "\n\n@keras.saving.register_keras_serializable(package='somebodys')\n"
        "class Doubled(keras.layers.Layer):\n    def call(self, x):\n        return 2 * x\n"
    )
    inputs = keras.Input([1], name="a")
    keras.Model(inputs, keras.layers.Dense(2)(Doubled()(inputs))).save(run / "model.keras")
    keras.saving.get_custom_objects().clear()

    assert command("predict", run) == 2
    message = capsys.readouterr().err
    assert "Could not locate class 'Doubled'" in message
    assert "add --model-fn somebodys:model_fn" in message
    assert command("predict", run, "--model-fn", "somebodys:model_fn") == 0
    keras.saving.get_custom_objects().clear()
