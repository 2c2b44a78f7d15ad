"""Options of a training in a YAML file."""

import json

import pytest
import yaml

from trainer.commands import main
from trainer.errors import ConfigError
from trainer.options import options_file
from trainer.options.train_options import TrainConfig

VALUES = {
    "data": "données/a: b",
    "output": "run",
    "inputs": ("image", "age"),
    "pad": {"words": 12},
    "image_size": (64, 48),
    "class_weights": "cat=2,dog=0.5",
    "learning_rate": 1e-05,
    "epochs": 3,
    "deterministic": True,
    "seed": 0,
}


def test_what_is_saved_is_loaded(tmp_path):
    path = str(tmp_path / "run.yaml")
    options_file.save(path, VALUES)

    loaded = options_file.load(path)
    assert loaded.keys() == VALUES.keys()
    assert TrainConfig(**loaded) == TrainConfig(**VALUES)
    text = (tmp_path / "run.yaml").read_text()
    assert text.startswith("# To train again: beam-tfrecords-train train --config run.yaml\n")
    assert "\n# model:  # small, " in text
    with pytest.raises(ConfigError, match="exists; remove it"):
        options_file.save(path, VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "inputs: [image, age]\npad: {words: 12}\n",
            {"inputs": ("image", "age"), "pad": {"words": 12}},
        ),
        (
            "image_size: 64x48\nquiet: true\nresume: false\n",
            {"image_size": (48, 64), "quiet": True, "resume": False},
        ),
        ("epochs:\nseed: 4\n", {"seed": 4}),
    ],
)
def test_values_as_people_write_them(tmp_path, text, expected):
    (tmp_path / "run.yaml").write_text(text)
    loaded = options_file.load(str(tmp_path / "run.yaml"))
    assert {
        name: tuple(value) if name == "image_size" else value for name, value in loaded.items()
    } == expected


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("epoch: 3\nbatch_size: x\n", ["unknown option epoch (did you mean 'epochs'?)", "'x'"]),
        ("- epochs\n", ["has no options; write lines such as `epochs: 10`"]),
        ("a: [\n", ["cannot be read"]),
        ("quiet: 3\n", ["quiet"]),
    ],
)
def test_what_is_wrong_is_named_at_once(tmp_path, text, messages):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        options_file.load(str(tmp_path / "run.yaml"))
    assert all(message in str(raised.value) for message in messages)


def test_a_training_is_repeated_with_one_more_option(directory_of, tmp_path, capsys):
    path, run, data = str(tmp_path / "run.yaml"), tmp_path / "run", str(directory_of("table"))
    typed = ["--data", data, "--output", str(run), "--epochs", "1", "--steps-per-epoch", "2"]
    assert main(["train", *typed, "--inputs", "age", "--seed", "4", "--quiet", "--save", path]) == 0
    assert yaml.safe_load((tmp_path / "run.yaml").read_text())["inputs"] == "age"

    again = ["train", "--config", path, "--output", str(tmp_path / "again"), "--seed", "5"]
    assert main(again) == 0
    first, second = (
        json.loads((folder / "config.json").read_text())["options"]
        for folder in (run, tmp_path / "again")
    )
    different = {name for name in first if first[name] != second[name]}
    assert different == {"output", "seed"}
    capsys.readouterr()
    assert main(["train", "--config", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml cannot be read: No such file or directory" in capsys.readouterr().err
    assert main(["train", "--data", data]) == 2
    assert "output (--output) is required" in capsys.readouterr().err
