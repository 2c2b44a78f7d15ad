"""Several processes with TF_CONFIG train the same model as one process."""

import re
import signal

import numpy as np
import pytest
from own_command import begin
from ports import tf_config, tf_configs
from run_files import weights_of

from trainer.errors import ConfigError
from trainer.runs.directory import RunDirectory
from trainer.workers import Workers, read_workers


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", Workers(1, True)),
        (tf_config(0, worker=["a:1"]), Workers(1)),
        (tf_config(1, worker=["a:1", "b:1"]), Workers(2, False)),
        (tf_config(0, chief=["a:1"], worker=["b:1"]), Workers(2, False)),
        ('{"cluster": 3}', None),
    ],
)
def test_tf_config(monkeypatch, config, expected):
    monkeypatch.setenv("TF_CONFIG", config)
    if expected is None:
        with pytest.raises(ConfigError, match=r"TF_CONFIG .* cannot be read"):
            read_workers()
    else:
        assert read_workers() == expected


ALL_CHANGES = (
    *("--epochs", "2", "--steps-per-epoch", "5", "--batch-size", "8", "--image-size", "16"),
    *("--optimizer", "sgd", "--learning-rate", "0.01"),
    *("--augment", "rand", "--label-smoothing", "0.1"),
    *("--class-weights", "red=2,blue=0.5"),
)


def train(data, run, num_workers, *more, ended=None, exit_code=0, options=ALL_CHANGES, **signals):
    """Train in several processes that return `exit_code`; return the output of each process.

    The process `ended` gets a signal, with arguments of `begin`, and returns the signal's code.
    """
    words = ("train", "--data", data, "--output", run, "--devices", "cpu", "--seed", "4")
    processes = []
    for number, config in enumerate(tf_configs(num_workers)):
        # oneDNN's sums depend on the number of rows per replica, which ten steps amplify.
        variables = {"TF_ENABLE_ONEDNN_OPTS": "0"}
        variables |= {"TF_CONFIG": config} if num_workers > 1 else {}
        variables |= signals if number == ended else {}
        processes.append(begin(run.parent, *words, *options, *more, **variables))
    try:
        said = ["".join(process.communicate(timeout=500)) for process in processes]
    finally:
        for process in processes:
            process.kill()
    codes = [exit_code] * num_workers
    if signals.get("by") == "SIGKILL":
        codes[ended] = -signal.SIGKILL
    assert [process.returncode for process in processes] == codes, said
    return said


@pytest.fixture(scope="module")
def one(colors, tmp_path_factory):
    """A run of one process."""
    run = tmp_path_factory.mktemp("one") / "run"
    train(colors, run, 1)
    return run


def check_same(run, one):
    """Check that weights and the last row, with validation, equal those of one process."""
    np.testing.assert_allclose(weights_of(run), weights_of(one), rtol=0, atol=1e-5)
    expected, found = (RunDirectory(str(each)).read_history()[-1] for each in (one, run))
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_two_workers_end_together_and_train_what_one_trains(colors, one, tmp_path):
    run = tmp_path / "run"

    said = train(colors, run, 2, ended=1, exit_code=1, at=3, by="SIGTERM")

    assert "ended by a signal to another worker; the run is saved" in said[0]
    assert "ended by SIGTERM; the run is saved" in said[1]

    said = train(colors, run, 2)
    assert "continuing after epoch 0, step 4" in said[0]  # the step in which all noticed
    check_same(run, one)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [pytest.param(0, marks=pytest.mark.nightly), 1])
def test_a_lost_worker_is_named_and_the_same_command_goes_on(colors, one, tmp_path, lost):
    run = tmp_path / "run"

    said = train(colors, run, 2, ended=lost, exit_code=1, at=7, by="SIGKILL")

    *_, last = lines = said[1 - lost].splitlines()
    logged = re.compile(r"[EFIW]\d{4} |Additional GRPC|:UNKNOWN")
    assert list(filter(logged.match, lines)) == []
    assert re.match(rf"error: a worker of TF_CONFIG has ended .*/task:{lost}\b", last)

    said = train(colors, run, 2)
    assert "continuing after epoch 1" in said[0]
    check_same(run, one)


@pytest.mark.nightly
def test_another_number_of_workers_goes_on(colors, one, tmp_path):
    run = tmp_path / "run"

    train(colors, run, 4, "--epochs", "1")
    train(colors, run, 2)

    check_same(run, one)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "metric"), [("boxes", "val_mAP"), ("segmentation", "val_mIoU")])
def test_two_workers_validate_as_one(directory_of, tmp_path, kind, metric):
    """Every worker pads boxes to the most in its own part of a batch."""
    options = ("--epochs", "1", "--steps-per-epoch", "2", "--batch-size", "4", "--image-size", "32")
    more = ("--validation-split", "test")
    for num_workers in (1, 2):
        run = tmp_path / f"run{num_workers}"
        train(directory_of(kind), run, num_workers, *more, options=options)

    one, two = (RunDirectory(str(tmp_path / run)).read_history()[-1] for run in ("run1", "run2"))
    assert two == pytest.approx(one, abs=1e-4)
    assert metric in one
