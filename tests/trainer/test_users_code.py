"""An error in a function of an option is told as the user's own, by its place."""

import sys

import pytest
from testdata.make_golden import GOLDEN

from trainer.__main__ import main

OWN = """
import keras

def model(task):
    return keras.layers.Dense(-1)

def loss(target, outputs):
    return {}["x"] * outputs[:, 0]

class Told(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        raise RuntimeError("no server")

def augment(image, seed):
    return image[missing]
"""


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["custom", "fit"])
@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("--model-fn own_parts:model", "line 5, in model: ValueError: Received an invalid value"),
        ("--loss-fn own_parts:loss", "line 8, in loss: KeyError: 'x'"),
        ("--augment-fn own_parts:augment", "line 15, in augment: NameError: name 'missing_"),
        ("--callback own_parts:Told", "line 12, in on_epoch_end: RuntimeError: no server"),
    ],
)
def test_it_is_told_without_our_frames(tmp_path, monkeypatch, capsys, option, place, loop):
    monkeypatch.chdir(tmp_path)
    # AutoGraph keeps what it made of a function with the very same code, with its place.
    (tmp_path / "own_parts.py").write_text(OWN.replace("missing", f"missing_{loop}"))
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)
    arguments = [
        *("train", "--data", str(GOLDEN), "--output", "run", "--epochs", "1"),
        *("--steps-per-epoch", "2", "--batch-size", "4", "--devices", "cpu", "--quiet"),
        *("--loop", loop, *option.split()),
    ]

    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error in your code: own_parts.py, {place}")
    assert line.endswith("; --debug prints the full traceback")
