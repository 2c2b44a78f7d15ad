"""A run of somebody else executes nothing, and leads nowhere, that the command does not name."""

import sys

import pytest
from run_files import COMMANDS, seal, unsealed
from tiers import first_quick

from trainer.errors import UntrustedRunError
from trainer.options.train import TrainConfig
from trainer.runs.continuing import check_named

RUN = {"data": "D", "output": "R"}
MODULE = """
import pathlib

import keras
import tensorflow as tf

pathlib.Path("acted").touch()


def model_fn(task):
    (name, each), = task.inputs.items()
    inputs = keras.Input(each.shape, dtype=each.dtype, name=name)
    x = keras.layers.Dense(128, activation="relu")(inputs)
    x = keras.layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, keras.layers.Dense(task.num_outputs)(x))


def loss_fn(target, outputs):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(target, tf.int32), outputs)


def optimizer_fn(learning_rate):
    return keras.optimizers.Adam(learning_rate)


def callback():
    return []
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
            {"model_fn": "a:b", "callback": "c; d:e"},
            "--model-fn a:b --callback 'c; d:e'",
            id="several functions, quoted",
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
        assert f"does not: add {missing}, or --trust-run if you know who" in str(raised.value)


@pytest.fixture
def acting(run, tmp_path, monkeypatch):
    """A function that makes the run name a function; it is in a module that acts when imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "somebodys.py").write_text(MODULE)

    def name(option):
        record = unsealed(run / "config.json")
        record["options"][option] = f"somebodys:{option}"
        seal(run / "config.json", record)
        return run

    yield name
    sys.modules.pop("somebodys", None)


USES = [
    *(("resume", option) for option in ("model_fn", "callback")),
    *(("evaluate", "loss_fn"), ("predict", "model_fn"), ("export", "model_fn")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), USES)
def test_no_command_imports_what_only_the_run_names(
    acting, command, tmp_path, capsys, name, option
):
    run = acting(option)

    code = command(name, run)

    message = capsys.readouterr().err
    if name == "resume" or (name, option) == ("evaluate", "loss_fn"):
        named = f"--{option.replace('_', '-')} somebodys:{option}"
        assert (code, f"add {named}, or --trust-run" in message) == (2, True)
    else:  # which needs none of them
        assert code == 0, message
    assert not (tmp_path / "acted").exists()
    assert "somebodys" not in sys.modules


@pytest.mark.parametrize(
    "name",
    first_quick(["resume", *COMMANDS[1:]]),
)
def test_no_command_asks_an_address_that_only_the_run_names(command, run, bucket, capsys, name):
    url, store = bucket
    record = unsealed(run / "config.json")
    for option in ("data", "schema", "class_weights"):
        record["options"][option] = f"{url}/{option}.json"
        store.put(f"{url}/{option}.json", b"{}")
    seal(run / "config.json", record)

    assert command(name, run) == (2 if name == "resume" else 0), capsys.readouterr().err
    assert store.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "option", "named"),
    [
        *((*use, True) for use in USES),
        ("resume", "callback", False),
        ("predict", "model_fn", False),
    ],
)
def test_what_is_named_again_or_trusted_is_used(acting, command, tmp_path, name, option, named):
    run = acting(option)
    option = f"--{option.replace('_', '-')}"
    more = [option, f"somebodys:{option[2:].replace('-', '_')}"] if named else ["--trust-run"]

    assert command(name, run, *more) == 0
    assert (tmp_path / "acted").exists()


def test_a_run_cannot_trust_itself(acting, command, run, capsys):
    acting("callback")
    record = unsealed(run / "config.json")
    record["options"]["trust_run"] = True
    seal(run / "config.json", record)

    assert command("resume", run) == 2
    assert "--callback somebodys:callback" in capsys.readouterr().err


def test_layers_of_ones_own_are_asked_for(acting, command, run, tmp_path, capsys):
    """The model has a layer that only the module registers."""
    import keras

    @keras.saving.register_keras_serializable(package="somebodys")
    class Doubled(keras.layers.Layer):
        def call(self, x):
            return 2 * x

    acting("model_fn")
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
    assert "add --model-fn somebodys:model_fn, or --trust-run" in message
    assert command("predict", run, "--model-fn", "somebodys:model_fn") == 0
    keras.saving.get_custom_objects().clear()
