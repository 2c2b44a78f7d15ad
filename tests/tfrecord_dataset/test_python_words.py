"""A caller in Python is told of arguments, where the command tells of its options."""

import pickle

import pytest
from testdata.make_golden import GOLDEN

import beam_pipeline
import trainer
from beam_pipeline.cli import commands
from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.python_words import in_python, note, of_command, speaks_python
from trainer.options.train import TrainConfig


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("--num-shards 0 is", "num_shards=0 is"),
        ("pass --overwrite to", "pass overwrite=True to"),
        ("another --name, --version or --output", "another name=, version= or output="),
        ("or pass --duplicates drop; or", "or pass duplicates='drop'; or"),
        ("--split train=0.8,test=0.2 keeps", "split={'train': 0.8, 'test': 0.2} keeps"),
        ("--label-column 'a b'", "label_column='a b'"),
        ("pass --output DATA_DIR", "pass output=DATA_DIR"),
        ("by --schema", "by schema="),
        ("--labels a,b", "classes=['a', 'b']"),
        ("pass --image-format jpeg", "pass image=ImageOptions(format='jpeg')"),
        ("--max-image-pixels", "image=ImageOptions(max_pixels=…)"),
        ("pass --ignore a.csv --ignore 'b c', or", "pass ignore=['a.csv', 'b c'], or"),
        ("`build x --seed 3`", "`build x --seed 3`"),
        ("--runner=FlinkRunner", "--runner=FlinkRunner"),
    ],
)
def test_messages(said, told):
    with pytest.raises(ConfigError) as raised, in_python(beam_pipeline.BuildConfig):
        raise ConfigError(said)
    assert (str(raised.value), raised.value.as_command) == (told, said)


def test_a_function_given_for_an_option_is_told_by_its_argument():
    words = in_python(TrainConfig, renamed={"model_fn": "model"})
    with pytest.raises(ConfigError, match=r"^the model of model='m:f'$"), words:
        raise ConfigError("the model of --model-fn m:f")


def test_a_note_is_told_in_the_words_of_whoever_calls():
    with in_python(beam_pipeline.BuildConfig):
        in_a_function = note("by --seed 3")
        with in_python(renamed={"schema": "features"}):
            assert note("by --schema FILE, or --seed 3") == "by features=, or seed=3"
    with of_command(), in_python(beam_pipeline.BuildConfig):
        in_a_command = note("by --seed 3")
    assert (in_a_function, in_a_command, note("--seed 3")) == (
        "by seed=3",
        "by --seed 3",
        "--seed 3",
    )


def test_a_plan_and_a_training_tell_notes_in_the_words_of_the_caller(tmp_path, capfd, caplog):
    table = tmp_path / "heights.csv"
    table.write_text("\n".join(["height,label", *(f"{n},{n}" for n in range(1001))]))
    beam_pipeline.plan(beam_pipeline.BuildConfig(input=str(table)))
    assert "if they are classes, pass label_column='label'" in caplog.text
    caplog.clear()
    assert commands.main(["plan", str(table)]) == 0
    assert "if they are classes, pass --label-column 'label'" in caplog.text

    with pytest.raises(trainer.ConfigError, match="no feature for the target 'none'"):
        trainer.train(GOLDEN, tmp_path / "run", target="none")
    assert "name one by validation_split=" in capfd.readouterr().err


def test_the_innermost_words_stay():
    @speaks_python
    def inner(*, max_side):
        raise ConfigError("--max-side 3")

    @speaks_python
    def outer(*, other):
        inner(max_side=3)

    with pytest.raises(ConfigError, match=r"^max_side=3$"):
        outer(other=1)


def test_python_and_the_command_each_have_their_own(tmp_path, capsys):
    with pytest.raises(beam_pipeline.ConfigError, match=r"^num_shards=0 cannot be used"):
        beam_pipeline.BuildConfig(input="x", num_shards=0)
    assert commands.main(["build", "x", "--output", str(tmp_path), "--num-shards", "0"]) == 2
    assert "error: --num-shards 0 cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        pytest.param({"split": "train"}, "split='train' cannot be used", id="split"),
        pytest.param({"split": {"a b": 1}}, r"split={'a b': 1} .*, as in split=", id="its names"),
        pytest.param({"num_shards": "4"}, "num_shards='4' cannot be used", id="shards"),
        pytest.param({"schema": "s.json"}, "schema='s.json' cannot be used", id="schema"),
        pytest.param({"image": {"max_side": 3}}, "image={'max_side': 3} cannot be", id="a part"),
    ],
)
def test_values_of_another_type_are_told_when_given(wrong, told):
    with pytest.raises(beam_pipeline.ConfigError, match=told.replace("{", r"\{")):
        beam_pipeline.BuildConfig(input="x", **wrong)


def test_a_training_is_told_by_arguments(tmp_path):
    with pytest.raises(trainer.ConfigError, match=r"^batch_size=0 is out of bounds"):
        trainer.train("data", tmp_path / "run", batch_size=0)


@pytest.mark.parametrize(
    "error",
    [ConfigError("--split is wrong"), UnknownNameError("split", "tset", ["train", "test"])],
)
def test_errors_come_whole_out_of_other_processes(error):
    error.told = "split is wrong"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.as_command) == (str(error), error.as_command)
